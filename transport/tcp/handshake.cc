#include "handshake.h"

namespace shoal::transport::tcp {

Handshake::Handshake(std::weak_ptr<Acceptance> owner, Core& core, Socket socket)
    : owner_(std::move(owner)), stream_(std::move(socket)), timer_(core.io) {}

void Handshake::start(Duration timeout) {
  error_code error;
  address_ = stream_->socket().remote_endpoint(error);  // fails if it has left already; so will reading
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this()](const error_code& failed) {
    if (!failed) self->time_out();
  });
  wait_readable(&Handshake::read_first_byte);
}

void Handshake::wait_readable(void (Handshake::*then)()) {
  stream_->socket().async_wait(Socket::wait_read, [self = shared_from_this(), then](const error_code& error) {
    if (!self->owner_.lock()) return;
    if (error) return self->end(nullptr);
    ((*self).*then)();
  });
}

/// The first byte tells whether the peer means TLS.
void Handshake::read_first_byte() {
  std::byte first{};
  error_code error;
  stream_->socket().receive(asio::buffer(&first, 1), Socket::message_peek, error);
  if (would_block(error)) return wait_readable(&Handshake::read_first_byte);
  if (error) return end(nullptr);
  if (first == kTlsHandshakeByte) {
    TlsContext* const tls = owner_.lock()->tls();
    if (!tls) return refuse_tls();
    Socket socket = std::move(stream_->socket());
    stream_.emplace(std::move(socket), *tls, TlsSide::kServer);
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

/// Strangers get no answer.
void Handshake::refuse_stranger() {
  warn("it does not speak Shoal's protocol", "look what else uses this address");
  end(nullptr);
}

void Handshake::time_out() {
  if (owner_.lock() && !answered_) warn("it did not introduce itself in time", "look what else uses this address");
  end(nullptr);
}

/// The alert that says why is on its way already.
void Handshake::report_tls_failure() {
  switch (stream_->failure()) {
    case TlsFailure::kOtherKey:
      warn("holds another token than this task, or is another version of Shoal", kSameToken);
      break;
    case TlsFailure::kOtherKind:
      warn("it has no token, perhaps a certificate, and this task has a token", kSameToken);
      break;
    case TlsFailure::kPeer:
    case TlsFailure::kOurs: warn(stream_->failure_text()); break;
    case TlsFailure::kStranger: return refuse_stranger();
    default: return end(nullptr);
  }
  close_after_answer();
}

void Handshake::answer_preamble(const Preamble& theirs) {
  const auto owner = owner_.lock();
  const bool far = !is_loopback(address_) && !stream_->encrypted();
  Preamble answer = preamble_of(owner->options(), owner->options().checksum || far);
  std::shared_ptr<void> slot = admit(*owner, theirs, answer);
  const PreambleBytes reply = encode(answer);
  const std::array<asio::const_buffer, 1> all{asio::buffer(reply)};
  error_code error;
  const size_t sent = stream_->write_some(all, error);  // an empty socket takes 16 bytes at once
  if (error || sent != reply.size() || stream_->unsent()) return end(nullptr);
  if (!slot) return close_after_answer();
  end(std::make_shared<Link>(owner->shared_core(), std::move(*stream_), peer(), owner->options(), agree(answer, theirs),
                             slot));
}

/// The place that the peer gets; if null, `answer` says why it gets none, and the log too.
std::shared_ptr<void> Handshake::admit(Acceptance& owner, const Preamble& theirs, Preamble& answer) {
  if (theirs.protocol != kProtocolVersion) {
    answer.status = kOtherProtocol;
    warn("it speaks protocol " + std::to_string(theirs.protocol) + ", this build " + std::to_string(kProtocolVersion),
         "install the same version of Shoal everywhere");
    return nullptr;
  }
  if (owner.tls() && !stream_->encrypted()) {
    const bool certified = std::holds_alternative<Certificate>(*owner.options().credential);
    answer.status = certified ? kWantsCertificate : kWantsToken;
    warn(certified ? "it has no certificate" : "it has no token", certified ? kSameCa : kSameToken);
    return nullptr;
  }
  std::shared_ptr<void> slot = owner.take_slot();
  if (slot) return slot;
  answer.status = kFull;
  owner.core().env.log().warning_once("full", to_string(owner.endpoint()) + ": refused " + to_string(peer()) + ": " +
                                                  std::to_string(owner.options().connections_max) +
                                                  " connections are open already");
  return nullptr;
}

void Handshake::refuse_tls() {
  warn("it has a token or a certificate, and this task has neither",
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

/// Closing with unread input would be a reset, which may overtake our answer.
void Handshake::drain() {
  std::array<std::byte, 4096> scratch;
  error_code error;
  for (size_t bytes = 0; !error && bytes < size_t(64) * 1024;)
    bytes += stream_->socket().read_some(asio::buffer(scratch), error);
  if (!would_block(error)) return end(nullptr);
  wait_readable(&Handshake::drain);
}

/// Once for each cause and machine: strangers shall not fill the log.
void Handshake::warn(const std::string& what, const std::string& remedy) {
  const auto owner = owner_.lock();
  owner->core().env.log().warning_once("refused " + what + address_.address().to_string(),
                                       to_string(owner->endpoint()) + ": refused " + to_string(peer()) + ": " + what +
                                           (remedy.empty() ? "" : "; ") + remedy);
}

void Handshake::drop() {
  owner_.reset();
  stream_->close();
  timer_.cancel();
}

void Handshake::end(std::shared_ptr<Link> link) {
  const auto owner = std::exchange(owner_, {}).lock();
  drop();
  if (owner) owner->finished(*this, std::move(link));
}

}  // namespace shoal::transport::tcp
