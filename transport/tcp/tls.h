// SPDX-License-Identifier: Apache-2.0
#pragma once
/// TLS 1.3 over a non-blocking socket, with a key that both sides share, or with certificates of one CA. Implemented by
/// tls_openssl.cc, or by tls_absent.cc in a build without OpenSSL.
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "net.h"
#include "shoal/transport/credential.h"

namespace shoal::transport::tcp {

/// The first byte that a TLS client sends. Nothing else that this transport sends begins with it.
inline constexpr std::byte kTlsHandshakeByte{22};
/// The answer of a listener without a credential to a TLS client: a record with the alert protocol_version (RFC 8446,
/// section 6).
inline constexpr std::array<uint8_t, 7> kNoTlsHere{21, 3, 3, 0, 2, 2, 70};

/// What the user should do if two tasks have different credentials.
inline constexpr const char* kSameToken = "start all tasks of a job with the same token (SHOAL_TOKEN, or --token-file)";
inline constexpr const char* kSameCa = "start all tasks of a job with certificates of one CA (--tls-dir)";

enum class TlsSide : uint8_t { kClient, kServer };

/// Why a TLS session failed: the reasons that only TLS has. Failures of the socket itself are not among them.
enum class TlsFailure : uint8_t {
  kNone,
  kOtherKey,   ///< The two sides have different tokens.
  kOtherKind,  ///< One side has a token, the other a certificate.
  kPeer,       ///< This side refuses the peer's certificate.
  kOurs,       ///< The peer refuses this side's certificate.
  kNoTls,      ///< The listener has neither a token nor a certificate.
  kStranger,   ///< The peer does not speak TLS 1.3, or not as Shoal does.
  kBroken,     ///< Bytes were changed on their way, after the handshake.
};

/// One connection. It is read and written like a non-blocking socket (bytes moved, or would_block, eof, another error).
/// Reading and writing first complete the handshake; until then, would_block means: wait until the socket is readable. For
/// one thread at a time.
class TlsSession {
 public:
  virtual ~TlsSession() = default;
  virtual size_t read_some(asio::mutable_buffer into, error_code& error) = 0;
  /// Accepts as many bytes of `parts` as the session has room for, and returns their number. While unsent() is true, some
  /// of the accepted bytes have not reached the socket yet.
  virtual size_t write_some(std::span<const asio::const_buffer> parts, error_code& error) = 0;
  /// Whether encrypted bytes wait for the socket. Call write_some(), even with no bytes, to send them.
  virtual bool unsent() const = 0;
  /// True if read_some() may have bytes to return even though the socket is not readable.
  virtual bool read_ahead() const = 0;
  /// Tells the peer that nothing more will be written.
  virtual void finish() = 0;
  /// The task that the peer's certificate names, once the handshake is complete; nothing if a token is used.
  virtual const std::optional<PeerIdentity>& identity() const = 0;
  virtual TlsFailure failure() const = 0;
  /// Explains failure(): OpenSSL's error text, such as "bad record mac". For kPeer and kOurs, a sentence says what is wrong
  /// and what to do.
  virtual const std::string& failure_text() const = 0;
};

/// The state that all connections with one credential share. One thread uses it; sessions keep it alive.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  /// Starts a session on a connected socket, which the caller owns and closes after the session is destroyed. With a
  /// certificate, a client may name the task that it expects.
  virtual std::unique_ptr<TlsSession> start(TlsSide side, int socket, std::optional<PeerIdentity> expected_peer = {}) = 0;
};

struct TlsOptions {
  /// The number of records encrypted with one key; then both sides change to a new one. AES-GCM is safe for 2^24.5 records
  /// (RFC 8446, section 5.5), which a long training exceeds.
  uint64_t records_per_key = uint64_t(1) << 22;
};
/// FailedPrecondition in a build without TLS; Internal if OpenSSL fails.
Result<std::shared_ptr<TlsContext>> make_tls_context(const Credential& credential, const TlsOptions& options = {});

}  // namespace shoal::transport::tcp
