// SPDX-License-Identifier: Apache-2.0
#include "attempt.h"

#include "shoal/base/exhaustion.h"

namespace shoal::transport::tcp {
namespace {

/// Whether the socket is connected to itself. That may happen by chance when a client retries a port of this machine on
/// which nobody listens: it may get that very port as its own, and would then occupy the port that the listener needs.
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
  // Asio resolves names on a thread that it starts, and the system may refuse the thread.
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
    return fail(unavailable(sentence("no process answers there") + (failures_.empty() ? "" : ": " + failures_)));
  socket_.emplace(core_->io);
  socket_->async_connect(addresses_[next_], [self = stream::self_of(this)](const error_code& error) {
    if (self->done() || !self->socket_) return;
    if (!error && !connected_to_itself(*self->socket_)) return self->start_handshake();
    self->failures_ = error ? system_error_text(error.value()) : "no process listens there yet";
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
  // Unless the options ask for checksums, only plain connections to other machines use them. TLS protects the payload
  // better than a checksum does.
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

/// Does the TLS handshake, if there is one, sends this side's preamble and reads the peer's. False: `error` says why the
/// exchange has failed, or (would_block) that it is not finished yet.
bool Attempt::exchange_preambles(error_code& error) {
  if (!sent_) {
    const PreambleBytes ours = encode(ours_);
    const std::array<asio::const_buffer, 1> all{asio::buffer(ours)};
    const size_t sent = stream_->write_some(all, error);  // An empty send buffer has room for these 16 bytes.
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
      return failed_precondition(sentence("has another token than this task, or is another version of Shoal; ") +
                                 kSameToken);
    case TlsFailure::kOtherKind:
      return failed_precondition(sentence(certified
                                              ? "has no certificate, perhaps a token, but this task has a certificate; "
                                              : "has a certificate, but this task has a token; ") +
                                 (certified ? kSameCa : kSameToken));
    case TlsFailure::kPeer:
    case TlsFailure::kOurs: return failed_precondition(sentence(stream_->failure_text()));
    case TlsFailure::kNoTls:
      return failed_precondition(
          sentence(certified ? "has no certificate, but this task has one; " : "has no token, but this task has one; ") +
          (certified ? kSameCa : kSameToken));
    case TlsFailure::kStranger:
    case TlsFailure::kBroken:
      return failed_precondition(sentence("the process that listens there does not speak TLS as Shoal does: ") +
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
        failed_precondition(sentence("speaks protocol " + std::to_string(theirs->protocol) + ", but this build speaks " +
                                     std::to_string(kProtocolVersion) + "; install the same version of Shoal everywhere")));
  if (theirs->status == kWantsToken)
    return fail(failed_precondition(sentence("requires the job's token, but this task has none; ") + kSameToken));
  if (theirs->status == kWantsCertificate)
    return fail(failed_precondition(sentence("requires a certificate, but this task has none; ") + kSameCa));
  if (theirs->status != kWelcome) return fail(unavailable(sentence("has reached its limit of connections")));
  connected(std::make_shared<Link>(core_, std::move(*stream_), to_, options_, agree(ours_, *theirs), nullptr));
}

void Attempt::close_sockets() {
  resolver_.reset();
  socket_.reset();
  stream_.reset();
}

}  // namespace shoal::transport::tcp
