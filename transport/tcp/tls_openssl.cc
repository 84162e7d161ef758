// SPDX-License-Identifier: Apache-2.0
// TLS by OpenSSL (3.0 and later). The settings below determine its strength: TLS 1.3, and either the key of the token as an
// external pre-shared key without certificates, or certificates on both sides without such a key. The key exchange is
// always ephemeral (so a secret that leaks later does not decrypt recorded traffic), and there are no tickets and no early
// data.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "tls.h"
#include "tls_bio.h"
#include "tls_certificates.h"
#include "tls_keys.h"
#include "tls_records.h"

namespace shoal::transport::tcp {
namespace {

constexpr long kPeerCertificateBytesMax = 16 * 1024;  // Even an unauthenticated peer may send this much.
constexpr size_t kReadAheadBytes = 64 * 1024;         // The largest number of bytes that one call reads from the socket.
constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};

struct FreeSsl {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class Context final : public TlsContext, public std::enable_shared_from_this<Context> {
 public:
  explicit Context(const TlsOptions& options) : options_(options) {}
  Result<void> open(const Credential& credential);
  std::unique_ptr<TlsSession> start(TlsSide side, int socket, std::optional<PeerIdentity> expected_peer) override;

  /// Nothing if tasks use certificates.
  const std::optional<TlsKeys>& keys() const { return keys_; }
  const TlsOptions& options() const { return options_; }
  /// Wraps the key in a made-up session, as OpenSSL requires; null if OpenSSL is out of memory.
  SSL_SESSION* make_key_session(SSL* ssl) const;

 private:
  Result<void> open_by_keys(const Token& token);
  Result<void> open_by_certificates(const Certificate& certificate);

  std::optional<TlsKeys> keys_;
  const TlsOptions options_;
  std::unique_ptr<BIO_METHOD, FreeBio> bio_method_;
  std::unique_ptr<SSL_CTX, FreeSsl> context_;
};

class Session final : public TlsSession {
 public:
  Session(std::shared_ptr<const Context> context, TlsSide side, int socket, std::optional<PeerIdentity> expected_peer)
      : context_(std::move(context)), side_(side), expected_peer_(std::move(expected_peer)), pipe_(socket) {}
  bool open(SSL_CTX& context, const BIO_METHOD& method);

  size_t read_some(asio::mutable_buffer into, error_code& error) override;
  size_t write_some(std::span<const asio::const_buffer> parts, error_code& error) override;
  bool unsent() const override { return pipe_.unsent(); }
  bool read_ahead() const override { return ssl_ && SSL_has_pending(ssl_.get()) == 1; }
  void finish() override;
  const std::optional<PeerIdentity>& identity() const override { return identity_; }
  TlsFailure failure() const override { return failure_; }
  const std::string& failure_text() const override { return failure_text_; }

  /// OpenSSL calls use_key() on a client to get the pre-shared key and its name. It calls find_key() on a server to get the
  /// pre-shared key that the client has named (`identity`).
  static int use_key(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, size_t* size, SSL_SESSION** session);
  static int find_key(SSL* ssl, const unsigned char* identity, size_t size, SSL_SESSION** session);
  /// OpenSSL calls this for each certificate in the peer's chain, from the CA on. `good` is OpenSSL's own verdict.
  static int judge(int good, X509_STORE_CTX* check);

 private:
  static Session& of(SSL* ssl) { return *static_cast<Session*>(SSL_get_app_data(ssl)); }
  bool by_certificates() const { return !context_->keys(); }
  bool shake_hands(error_code& error);
  bool proved() const;
  bool encrypt(asio::const_buffer record, error_code& error);
  /// Sets `error` to the reason why a call of OpenSSL moved no bytes.
  void explain(int result, error_code& error);
  void fail(TlsFailure why, std::string text, error_code& error);
  void explain_refusal(unsigned long code, error_code& error);
  TlsFailure reason_of(unsigned long code) const;

  const std::shared_ptr<const Context> context_;
  const TlsSide side_;
  const std::optional<PeerIdentity> expected_peer_;
  TlsPipe pipe_;
  std::unique_ptr<SSL, FreeSsl> ssl_;  // Declared after pipe_, so that it is destroyed first.
  bool through_ = false;               // True once the handshake is complete.
  bool heard_ = false;                 // True once something was received after the handshake.
  bool named_key_ = false;             // True if the client has named a pre-shared key.
  bool other_identity_ = false;        // True if the client named a pre-shared key that this side does not have.
  std::string refusal_;                // Why this side refuses the peer's certificate.
  // The task that the peer's certificate names. claimed_ is set once the certificate is checked, identity_ once the
  // handshake is complete.
  std::optional<PeerIdentity> claimed_, identity_;
  uint64_t records_ = 0;  // The number of records sent with the present key.
  std::array<std::byte, kRecordBytesMax> gathered_;
  TlsFailure failure_ = TlsFailure::kNone;
  std::string failure_text_;
};

std::string text_of(unsigned long code) {
  const char* const text = ERR_reason_error_string(code);
  return text ? text : "error " + std::to_string(code);
}

Result<void> Context::open(const Credential& credential) {
  bio_method_ = make_bio_method();
  context_.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* const context = context_.get();
  if (!context || !bio_method_ || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1)
    return internal_error("OpenSSL cannot be set up for TLS 1.3: " + text_of(ERR_get_error()));
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAheadBytes);
  if (const auto* const certificate = std::get_if<Certificate>(&credential)) return open_by_certificates(*certificate);
  return open_by_keys(std::get<Token>(credential));
}

Result<void> Context::open_by_keys(const Token& token) {
  SHOAL_TRY(keys_, derive_tls_keys(token));
  SSL_CTX_set_psk_use_session_callback(context_.get(), &Session::use_key);
  SSL_CTX_set_psk_find_session_callback(context_.get(), &Session::find_key);
  return {};
}

Result<void> Context::open_by_certificates(const Certificate& certificate) {
  if (!use_certificate(*context_, certificate))
    return internal_error("OpenSSL does not accept this task's certificate: " + text_of(ERR_get_error()));
  SSL_CTX_set_max_cert_list(context_.get(), kPeerCertificateBytesMax);
  return {};
}

std::unique_ptr<TlsSession> Context::start(TlsSide side, int socket, std::optional<PeerIdentity> expected_peer) {
  auto session = std::make_unique<Session>(shared_from_this(), side, socket, std::move(expected_peer));
  SHOAL_CHECK(session->open(*context_, *bio_method_));  // Fails only if memory has run out.
  return session;
}

SSL_SESSION* Context::make_key_session(SSL* ssl) const {
  SSL_SESSION* const session = SSL_SESSION_new();
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kAes128GcmSha256);
  if (session && cipher && SSL_SESSION_set1_master_key(session, keys_->key.data(), keys_->key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
    return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int Session::use_key(SSL* ssl, const EVP_MD*, const unsigned char** identity, size_t* size, SSL_SESSION** session) {
  const Context& context = *of(ssl).context_;
  *session = context.make_key_session(ssl);
  *identity = reinterpret_cast<const unsigned char*>(context.keys()->identity.data());
  *size = context.keys()->identity.size();
  return *session ? 1 : 0;
}

int Session::find_key(SSL* ssl, const unsigned char* identity, size_t size, SSL_SESSION** session) {
  Session& self = of(ssl);
  *session = nullptr;
  const std::string& ours = self.context_->keys()->identity;
  self.named_key_ = true;
  self.other_identity_ = std::string_view(reinterpret_cast<const char*>(identity), size) != ours;
  // The client has another token. Returns without a key, so the handshake fails: without a key this side would need a
  // certificate, and it has none.
  if (self.other_identity_) return 1;
  *session = self.context_->make_key_session(ssl);
  return *session ? 1 : 0;
}

int Session::judge(int good, X509_STORE_CTX* check) {
  SSL* const ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx()));
  Session& self = of(ssl);
  const int depth = X509_STORE_CTX_get_error_depth(check);
  if (good != 1) {
    self.refusal_ = why_refused(X509_STORE_CTX_get_error(check), depth);
    return 0;
  }
  if (depth > 0) return 1;
  Result<PeerIdentity> owner = owner_of(*X509_STORE_CTX_get_current_cert(check));
  if (!owner) {
    self.refusal_ = "its certificate " + owner.error().message();
    X509_STORE_CTX_set_error(check, X509_V_ERR_INVALID_PURPOSE);  // Decides which TLS alert OpenSSL sends to the peer.
    return 0;
  }
  if (self.expected_peer_ && *owner != *self.expected_peer_) {
    self.refusal_ = why_unexpected(*owner, *self.expected_peer_);
    X509_STORE_CTX_set_error(check, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  self.claimed_ = std::move(*owner);
  return 1;
}

bool Session::open(SSL_CTX& context, const BIO_METHOD& method) {
  ssl_.reset(SSL_new(&context));
  auto bio = make_bio(method, pipe_);
  if (!ssl_ || !bio || SSL_set_app_data(ssl_.get(), this) != 1) return false;
  BIO* const both = bio.release();
  SSL_set_bio(ssl_.get(), both, both);
  if (side_ == TlsSide::kClient) {
    SSL_set_connect_state(ssl_.get());
  } else {
    SSL_set_accept_state(ssl_.get());
  }
  if (by_certificates()) {
    SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &Session::judge);
  } else if (side_ == TlsSide::kClient) {
    // This client trusts no CA, so it refuses every listener that has a certificate instead of the key.
    SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, nullptr);
  }
  return true;
}

bool Session::shake_hands(error_code& error) {
  if (through_) return true;
  if (failure_ != TlsFailure::kNone) return fail(failure_, failure_text_, error), false;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) explain(result, error);  // Comes before send(), which changes the state that explain() reads.
  pipe_.send();                             // If the handshake failed, this sends the alert.
  if (result != 1) return false;
  if (!proved()) return fail(TlsFailure::kOtherKey, "handshake without proof", error), false;
  identity_ = claimed_;
  return through_ = true;
}

/// Whether the handshake has authenticated the peer.
bool Session::proved() const {
  // OpenSSL reports an agreed pre-shared key as a reused session. Real sessions are never reused.
  const bool by_key = SSL_session_reused(ssl_.get()) == 1;
  if (!by_certificates()) return by_key;
  return !by_key && SSL_get0_peer_certificate(ssl_.get()) && SSL_get_verify_result(ssl_.get()) == X509_V_OK && claimed_;
}

size_t Session::read_some(asio::mutable_buffer into, error_code& error) {
  error.clear();
  if (!shake_hands(error)) return 0;
  ERR_clear_error();
  size_t bytes = 0;
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
  if (result == 1) return heard_ = true, bytes;
  explain(result, error);
  pipe_.send();  // Sends OpenSSL's answer, if what it read requires one.
  // Even an authenticated peer could request changes of the encryption key again and again, without reading the answers,
  // which would fill this side's memory.
  if (!pipe_.write_error() && pipe_.unsent_bytes() > 4 * TlsPipe::kUnsentBytesMax)
    fail(TlsFailure::kBroken, "too many key updates", error);
  return 0;
}

size_t Session::write_some(std::span<const asio::const_buffer> parts, error_code& error) {
  error.clear();
  if (!shake_hands(error)) return 0;
  pipe_.send();
  size_t taken = 0;
  RecordCutter records(parts, gathered_);
  while (!records.empty() && pipe_.has_room()) {
    const asio::const_buffer record = records.next();
    if (!encrypt(record, error)) return 0;
    taken += record.size();
  }
  pipe_.send();
  if (pipe_.write_error()) return error = pipe_.write_error(), 0;
  if (taken == 0 && pipe_.unsent()) error = asio::error::would_block;
  return taken;
}

bool Session::encrypt(asio::const_buffer record, error_code& error) {
  ERR_clear_error();
  if (++records_ > context_->options().records_per_key) {
    records_ = 1;
    if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
      return fail(TlsFailure::kBroken, text_of(ERR_get_error()), error), false;
  }
  size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), record.data(), record.size(), &written);
  if (result == 1 && written == record.size()) return true;  // A call writes all of a record, or fails.
  return fail(TlsFailure::kBroken, text_of(ERR_get_error()), error), false;
}

void Session::finish() {
  if (!through_ || failure_ != TlsFailure::kNone) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  pipe_.send();
}

void Session::explain(int result, error_code& error) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: error = asio::error::would_block; return;
    case SSL_ERROR_ZERO_RETURN: error = asio::error::eof; return;
    default: break;
  }
  if (pipe_.read_error()) {
    error = pipe_.read_error();
    return;
  }
  const unsigned long code = ERR_get_error();
  if (by_certificates() && !heard_) return explain_refusal(code, error);
  fail(reason_of(code), text_of(code), error);
}

/// Sets `error` to the reason why one side refused the other's certificate. This may happen even after the handshake is
/// complete for a client, since only then does the client learn whether the server accepts its certificate.
void Session::explain_refusal(unsigned long code, error_code& error) {
  const int reason = ERR_GET_REASON(code), alert = reason - SSL_AD_REASON_OFFSET;
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) return fail(TlsFailure::kPeer, refusal_, error);
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    return fail(TlsFailure::kPeer, std::string("it has no certificate; ") + kSameCa, error);
  if (side_ == TlsSide::kClient && !through_) {
    if (alert == SSL_AD_PROTOCOL_VERSION) return fail(TlsFailure::kNoTls, text_of(code), error);
    if (alert == SSL_AD_HANDSHAKE_FAILURE) return fail(TlsFailure::kOtherKind, text_of(code), error);
  }
  if (auto why = why_it_refuses(alert)) return fail(TlsFailure::kOurs, std::move(*why), error);
  fail(through_ ? TlsFailure::kBroken : TlsFailure::kStranger, text_of(code), error);
}

TlsFailure Session::reason_of(unsigned long code) const {
  if (through_) return TlsFailure::kBroken;
  const int reason = ERR_GET_REASON(code);
  if (side_ == TlsSide::kServer) {
    if (other_identity_ || reason == SSL_R_BINDER_DOES_NOT_VERIFY) return TlsFailure::kOtherKey;
    return !named_key_ && reason == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM ? TlsFailure::kOtherKind : TlsFailure::kStranger;
  }
  // The listener's alert tells this client that the listener has no TLS, or another key.
  switch (reason - SSL_AD_REASON_OFFSET) {
    case SSL_AD_PROTOCOL_VERSION: return TlsFailure::kNoTls;
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_ILLEGAL_PARAMETER:
    case SSL_AD_DECRYPT_ERROR:
    case SSL_AD_UNKNOWN_PSK_IDENTITY: return TlsFailure::kOtherKey;
    default: break;
  }
  return reason == SSL_R_CERTIFICATE_VERIFY_FAILED ? TlsFailure::kOtherKind : TlsFailure::kStranger;
}

void Session::fail(TlsFailure why, std::string text, error_code& error) {
  failure_ = why;
  failure_text_ = std::move(text);
  error = make_error_code(boost::system::errc::protocol_error);
}

}  // namespace

Result<std::shared_ptr<TlsContext>> make_tls_context(const Credential& credential, const TlsOptions& options) {
  auto context = std::make_shared<Context>(options);
  SHOAL_TRY_VOID(context->open(credential));
  return std::shared_ptr<TlsContext>(std::move(context));
}

}  // namespace shoal::transport::tcp
