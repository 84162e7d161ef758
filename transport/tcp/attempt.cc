#include "attempt.h"

#include <boost/asio/write.hpp>

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
    : core_(std::move(core)), to_(std::move(to)), options_(options), waits_(std::make_shared<WaitList>(core_->env)) {}

void Attempt::start() {
  core_->remember(shared_from_this());
  const Result<HostPort> at = parse_host_port(to_);
  if (!at) return finish(at.error());
  if (auto addresses = numeric_addresses(*at); !addresses.empty()) return resolved(std::move(addresses));
  resolver_.emplace(core_->io);
  resolver_->async_resolve(at->host, std::to_string(at->port),
                           [self = shared_from_this()](const error_code& error, const Resolver::results_type& found) {
                             if (self->done() || !self->resolver_) return;
                             if (error)
                               return self->finish(unavailable(to_string(self->to_) + ": the host name does not resolve: " +
                                                               error.message()));
                             std::vector<SocketAddress> addresses;
                             for (const auto& entry : found) addresses.push_back(entry.endpoint());
                             self->resolved(std::move(addresses));
                           });
}

void Attempt::resolved(std::vector<SocketAddress> addresses) {
  if (const auto secure = check_secure(to_, addresses, options_.insecure); !secure) return finish(secure.error());
  for (const SocketAddress& address : addresses) {
    if (!is_loopback(address))
      core_->env.log().warning_once("insecure", "plain TCP beyond this machine: messages are neither encrypted nor "
                                                "authenticated (--insecure)");
  }
  addresses_ = std::move(addresses);
  try_next();
}

void Attempt::try_next() {
  if (next_ == addresses_.size())
    return finish(unavailable(to_string(to_) + ": nobody answers there" + (failures_.empty() ? "" : ": " + failures_)));
  socket_.emplace(core_->io);
  socket_->async_connect(addresses_[next_], [self = shared_from_this()](const error_code& error) {
    if (self->done() || !self->socket_) return;
    if (!error && !connected_to_itself(*self->socket_)) return self->introduce();
    self->failures_ = error ? error.message() : "nobody listens there yet";
    ++self->next_;
    self->try_next();
  });
}

void Attempt::introduce() {
  error_code error;
  const bool checksum = options_.checksum || !is_loopback(addresses_[next_]);
  const PreambleBytes ours = encode(Preamble{.checksum = checksum});
  socket_->non_blocking(true, error);
  const size_t sent = socket_->write_some(asio::buffer(ours), error);  // an empty socket takes 16 bytes at once
  if (error || sent != ours.size()) return finish(unavailable(to_string(to_) + ": connection lost: " + error.message()));
  timer_.emplace(core_->io, options_.handshake_timeout);
  timer_->async_wait([self = shared_from_this()](const error_code& failed) {
    if (!failed && !self->done())
      self->finish(unavailable(to_string(self->to_) + ": somebody listens there but does not answer as Shoal does"));
  });
  asio::async_read(*socket_, asio::buffer(bytes_), [self = shared_from_this()](const error_code& failed, size_t) {
    if (self->done() || !self->socket_) return;
    if (failed)
      return self->finish(unavailable(to_string(self->to_) + ": the listener hung up during the handshake"));
    self->answered();
  });
}

void Attempt::answered() {
  const Result<Preamble> theirs = decode(bytes_);
  if (!theirs) return finish(failed_precondition(to_string(to_) + ": " + theirs.error().message()));
  if (theirs->protocol != kProtocolVersion || theirs->status == kOtherProtocol)
    return finish(failed_precondition(to_string(to_) + ": speaks protocol " + std::to_string(theirs->protocol) +
                                      ", this build " + std::to_string(kProtocolVersion) +
                                      "; install the same version of Shoal everywhere"));
  if (theirs->status != kWelcome)
    return finish(unavailable(to_string(to_) + ": has as many connections as it takes"));
  const bool checksum = options_.checksum || theirs->checksum || !is_loopback(addresses_[next_]);
  auto link = std::make_shared<Link>(core_, std::move(*socket_), to_, options_, checksum, nullptr);
  link->start();
  finish(std::move(link));
}

void Attempt::finish(Result<std::shared_ptr<Link>> result) {
  result_ = std::move(result);
  release();
  waits_->wake_first();
}

void Attempt::cancel() {
  release();
  if (result_ && *result_) (**result_)->close(cancelled());
  result_.reset();
  waits_->stop();
}

void Attempt::release() {
  resolver_.reset();
  timer_.reset();
  socket_.reset();
  core_->forget(this);
}

}  // namespace shoal::transport::tcp
