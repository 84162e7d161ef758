// SPDX-License-Identifier: Apache-2.0
#include "attempt.h"

#include "shoal/base/exhaustion.h"

namespace shoal::transport::tcp {
namespace {

/// Retrying a port of this machine that nobody listens on may, by chance, get that very port as its own and connect the
/// socket to itself; it would then hold the port that the listener is about to take.
bool connected_to_itself(const asio::ip::tcp::socket& socket) {
  error_code ignored;
  return socket.local_endpoint(ignored) == socket.remote_endpoint(ignored);
}

}  // namespace

Attempt::Attempt(std::shared_ptr<Core> core, Endpoint to, LinkOptions options)
    : stream::Attempt(core, std::move(to), std::move(options)), tcp_core_(*core) {}

void Attempt::begin() {
  const Result<HostPort> at = parse_host_port(to_);
  if (!at) return fail(at.error());
  Result<std::shared_ptr<TlsContext>> tls = tcp_core_.tls(options_.credential);
  if (!tls) return fail(tls.error().with_context(to_string(to_)));
  tls_ = std::move(*tls);
  if (auto addresses = numeric_addresses(*at); !addresses.empty()) return resolved(std::move(addresses));
  const auto resolve = [this, &at] {
    resolver_->async_resolve(
        at->host, std::to_string(at->port),
        [self = stream::self_of(this)](const error_code& error, const Resolver::results_type& found) {
          if (self->done() || !self->resolver_) return;
          if (error) return self->fail(unavailable(self->sentence("the host name does not resolve: ") + error.message()));
          std::vector<SocketAddress> addresses;
          for (const auto& entry : found) addresses.push_back(entry.endpoint());
          self->resolved(std::move(addresses));
        });
  };
  resolver_.emplace(core_->io);
  // Asio looks names up on a thread that it starts, and the system may give it none.
  const Result<void> resolving = call_user("the look-up of a host name", resolve);
  if (!resolving) fail(resolving.error().with_context(to_string(to_)));
}

void Attempt::resolved(std::vector<SocketAddress> addresses) {
  if (const auto secure = check_secure(core_->env.log(), to_, addresses, options_); !secure) return fail(secure.error());
  addresses_ = std::move(addresses);
  try_next();
}

void Attempt::try_next() {
  if (next_ == addresses_.size())
    return fail(unavailable(sentence("nobody answers there") + (failures_.empty() ? "" : ": " + failures_)));
  socket_.emplace(core_->io);
  socket_->async_connect(addresses_[next_], [self = stream::self_of(this)](const error_code& error) {
    if (self->done() || !self->socket_) return;
    if (!error && !connected_to_itself(*self->socket_)) return self->start_handshake();
    self->failures_ = error ? system_error_text(error.value()) : "nobody listens there yet";
    ++self->next_;
    self->try_next();
  });
}

void Attempt::start_handshake() {
  if (tls_) {
    stream_.emplace(std::move(*socket_), *tls_, TlsSide::kClient, options_.expected_peer);
  } else {
    stream_.emplace(std::move(*socket_));
  }
  socket_.reset();
  // TLS protects what it carries better than a checksum does.
  ours_ = preamble_of(options_, options_.checksum || (!tls_ && !is_loopback(addresses_[next_])));
  limit_handshake();
  continue_handshake();
}

void Attempt::continue_handshake() {
  if (done() || !stream_) return;
  error_code error;
  if (exchange_preambles(error)) return read_answer();
  if (!would_block(error)) return fail(refused(error));
  stream_->socket().async_wait(Socket::wait_read,
                               [self = stream::self_of(this)](const error_code&) { self->continue_handshake(); });
}

/// Says who we are and hears who they are; the TLS handshake is part of it. False: not yet, or why not.
bool Attempt::exchange_preambles(error_code& error) {
  if (!sent_) {
    const PreambleBytes ours = encode(ours_);
    const std::array<asio::const_buffer, 1> all{asio::buffer(ours)};
    const size_t sent = stream_->write_some(all, error);  // An empty socket takes 16 bytes at once.
    if (error) return false;
    if (sent != ours.size() || stream_->unsent()) return error = asio::error::no_buffer_space, false;
    sent_ = true;
  }
  while (received_bytes_ < kPreambleBytes) {
    const std::array<asio::mutable_buffer, 1> rest{
        asio::buffer(bytes_.data() + received_bytes_, kPreambleBytes - received_bytes_)};
    received_bytes_ += stream_->read_some(rest, error);
    if (error) return false;
  }
  return true;
}

Error Attempt::refused(const error_code& error) const {
  const bool certified = options_.credential && std::holds_alternative<Certificate>(*options_.credential);
  switch (stream_->failure()) {
    case TlsFailure::kOtherKey:
      return failed_precondition(sentence("holds another token than this task, or is another version of Shoal; ") +
                                 kSameToken);
    case TlsFailure::kOtherKind:
      return failed_precondition(sentence(certified
                                              ? "has no certificate, perhaps a token, and this task has a certificate; "
                                              : "has a certificate, and this task a token; ") +
                                 (certified ? kSameCa : kSameToken));
    case TlsFailure::kPeer:
    case TlsFailure::kOurs: return failed_precondition(sentence(stream_->failure_text()));
    case TlsFailure::kNoTls:
      return failed_precondition(
          sentence(certified ? "has no certificate, and this task has one; " : "has no token, and this task has one; ") +
          (certified ? kSameCa : kSameToken));
    case TlsFailure::kStranger:
    case TlsFailure::kBroken:
      return failed_precondition(sentence("somebody listens there who does not speak TLS as Shoal does: ") +
                                 stream_->describe(error));
    case TlsFailure::kNone: break;
  }
  if (error == asio::error::eof) return unavailable(sentence("the listener hung up during the handshake"));
  return unavailable(sentence("connection lost during the handshake: ") + error.message());
}

void Attempt::read_answer() {
  const Result<Preamble> theirs = decode(bytes_);
  if (!theirs) return fail(failed_precondition(sentence(theirs.error().message())));
  if (theirs->protocol != kProtocolVersion || theirs->status == kOtherProtocol)
    return fail(
        failed_precondition(sentence("speaks protocol " + std::to_string(theirs->protocol) + ", this build " +
                                     std::to_string(kProtocolVersion) + "; install the same version of Shoal everywhere")));
  if (theirs->status == kWantsToken)
    return fail(failed_precondition(sentence("wants the job's token, and this task has none; ") + kSameToken));
  if (theirs->status == kWantsCertificate)
    return fail(failed_precondition(sentence("wants a certificate, and this task has none; ") + kSameCa));
  if (theirs->status != kWelcome) return fail(unavailable(sentence("has as many connections as it takes")));
  connected(std::make_shared<Link>(core_, std::move(*stream_), to_, options_, agree(ours_, *theirs), nullptr));
}

void Attempt::close_sockets() {
  resolver_.reset();
  socket_.reset();
  stream_.reset();
}

}  // namespace shoal::transport::tcp
