// SPDX-License-Identifier: Apache-2.0
#include "handshake.h"

namespace shoal::transport::tcp {

Handshake::Handshake(std::weak_ptr<stream::Acceptance> owner, stream::Core& core, Socket socket,
                     std::shared_ptr<TlsContext> tls)
    : stream::Handshake(std::move(owner), core), tls_(std::move(tls)), stream_(std::move(socket)) {}

void Handshake::begin() {
  error_code error;
  // remote_endpoint() fails if the peer has left already. The error is ignored, since the next read will fail, too.
  address_ = stream_->socket().remote_endpoint(error);
  wait_readable(&Handshake::read_first_byte);
}

void Handshake::wait_readable(void (Handshake::*then)()) {
  stream_->socket().async_wait(Socket::wait_read, [self = stream::self_of(this), then](const error_code& error) {
    if (!self->owner()) return;
    if (error) return self->end(nullptr);
    ((*self).*then)();
  });
}

/// The first byte tells whether the peer begins a TLS handshake.
void Handshake::read_first_byte() {
  std::byte first{};
  error_code error;
  stream_->socket().receive(asio::buffer(&first, 1), Socket::message_peek, error);
  if (would_block(error)) return wait_readable(&Handshake::read_first_byte);
  if (error) return end(nullptr);
  if (first == kTlsHandshakeByte) {
    if (!tls_) return refuse_tls();
    Socket socket = std::move(stream_->socket());
    stream_.emplace(std::move(socket), *tls_, TlsSide::kServer);
  }
  read_preamble();
}

void Handshake::read_preamble() {
  error_code error;
  while (received_bytes_ < kPreambleBytes) {
    const std::array<asio::mutable_buffer, 1> rest{
        asio::buffer(bytes_.data() + received_bytes_, kPreambleBytes - received_bytes_)};
    received_bytes_ += stream_->read_some(rest, error);
    if (would_block(error)) return wait_readable(&Handshake::read_preamble);
    if (error) break;
  }
  if (error && stream_->failure() != TlsFailure::kNone) return report_tls_failure();
  if (error) return end(nullptr);
  const Result<Preamble> theirs = decode(bytes_);
  if (!theirs) return refuse_stranger();
  answer_preamble(*theirs);
}

/// Peers that are not Shoal get no answer.
void Handshake::refuse_stranger() {
  warn("it does not speak Shoal's protocol", "find out what else uses this address");
  end(nullptr);
}

void Handshake::timed_out() {
  if (owner() && !answered_) warn("it did not introduce itself in time", "find out what else uses this address");
  end(nullptr);
}

/// Logs why TLS failed. The TLS alert with the reason is already on its way to the peer.
void Handshake::report_tls_failure() {
  switch (stream_->failure()) {
    case TlsFailure::kOtherKey:
      warn("it has another token than this task, or is another version of Shoal", kSameToken);
      break;
    case TlsFailure::kOtherKind:
      warn("it has no token, perhaps a certificate, but this task has a token", kSameToken);
      break;
    case TlsFailure::kPeer:
    case TlsFailure::kOurs: warn(stream_->failure_text()); break;
    case TlsFailure::kStranger: return refuse_stranger();
    default: return end(nullptr);
  }
  close_after_answer();
}

void Handshake::answer_preamble(const Preamble& theirs) {
  const auto acceptance = owner();
  const bool far = !is_loopback(address_) && !stream_->encrypted();
  const LinkOptions& options = acceptance->options();
  Preamble answer = preamble_of(options, options.checksum || far);
  std::shared_ptr<void> slot = admit(*acceptance, theirs, answer);
  const PreambleBytes reply = encode(answer);
  const std::array<asio::const_buffer, 1> all{asio::buffer(reply)};
  error_code error;
  const size_t sent = stream_->write_some(all, error);  // An empty send buffer has room for these 16 bytes.
  if (error || sent != reply.size() || stream_->unsent()) return end(nullptr);
  if (!slot) return close_after_answer();
  end(std::make_shared<Link>(acceptance->core(), std::move(*stream_), peer(), options, agree(answer, theirs), slot));
}

/// Reserves a connection for the peer. Null: the peer is refused; `answer` and the log say why.
std::shared_ptr<void> Handshake::admit(stream::Acceptance& acceptance, const Preamble& theirs, Preamble& answer) {
  if (theirs.protocol != kProtocolVersion) {
    answer.status = kOtherProtocol;
    warn("it speaks protocol " + std::to_string(theirs.protocol) + ", but this build speaks " +
             std::to_string(kProtocolVersion),
         "install the same version of Shoal everywhere");
    return nullptr;
  }
  if (tls_ && !stream_->encrypted()) {
    const bool certified = std::holds_alternative<Certificate>(*acceptance.options().credential);
    answer.status = certified ? kWantsCertificate : kWantsToken;
    warn(certified ? "it has no certificate" : "it has no token", certified ? kSameCa : kSameToken);
    return nullptr;
  }
  std::shared_ptr<void> slot = acceptance.admit(peer());
  if (!slot) answer.status = kFull;
  return slot;
}

void Handshake::refuse_tls() {
  warn("it has a token or a certificate, but this task has neither",
       std::string(kSameToken) + ", or each with a certificate of one CA (--tls-dir)");
  error_code ignored;
  stream_->socket().send(asio::buffer(kNoTlsHere), 0, ignored);
  close_after_answer();
}

void Handshake::close_after_answer() {
  answered_ = true;
  stream_->end_writing();
  drain();
}

/// Reads the remaining input: closing a socket with unread input sends a reset, which may overtake our answer.
void Handshake::drain() {
  std::array<std::byte, 4096> scratch;
  error_code error;
  for (size_t bytes = 0; !error && bytes < size_t(64) * 1024;)
    bytes += stream_->socket().read_some(asio::buffer(scratch), error);
  if (!would_block(error)) return end(nullptr);
  wait_readable(&Handshake::drain);
}

/// Warns once for each cause and peer's machine, so that a peer that connects again and again does not fill the log.
void Handshake::warn(const std::string& what, const std::string& remedy) {
  const auto acceptance = owner();
  acceptance->core()->env.log().warning_once("refused " + what + address_.address().to_string(),
                                             to_string(acceptance->endpoint()) + ": refused " + to_string(peer()) + ": " +
                                                 what + (remedy.empty() ? "" : "; ") + remedy);
}

}  // namespace shoal::transport::tcp
