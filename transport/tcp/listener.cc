#include "listener.h"

#include <algorithm>

#include "handshake.h"
#include "shoal/transport/handles.h"

namespace shoal::transport::tcp {
namespace {

// Peers may connect and never say anything: beyond this many, the oldest is dropped for the newest.
constexpr size_t kHandshakesMax = 256;
// When descriptors run out, accepting pauses rather than spins.
constexpr auto kRest = std::chrono::milliseconds(50);

}  // namespace

Acceptance::Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options, std::shared_ptr<TlsContext> tls)
    : core_(std::move(core)),
      endpoint_(std::move(endpoint)),
      options_(std::move(options)),
      tls_(std::move(tls)),
      waits_(std::make_shared<WaitQueue>(core_->env)) {}

Result<void> Acceptance::open(const std::vector<SocketAddress>& addresses) {
  error_code error;
  for (const SocketAddress& address : addresses) {
    acceptor_.emplace(core_->io);
    acceptor_->open(address.protocol(), error);
    if (!error) acceptor_->set_option(Acceptor::reuse_address(true), error);  // not to wait for connections long dead
    if (!error && address.address().is_v6()) acceptor_->set_option(asio::ip::v6_only(true), error);
    if (!error) acceptor_->bind(address, error);
    if (!error) acceptor_->listen(1024, error);
    if (!error) break;
  }
  if (error) {
    acceptor_.reset();
    const bool taken = error == asio::error::address_in_use;
    return unavailable(to_string(endpoint_) + ": cannot listen there: " + error.message() +
                       (taken ? "; another process has this port, choose another or end that one" : ""));
  }
  // The host as it was named, with the port that the system gave if it was asked for any.
  endpoint_.address = endpoint_.address.substr(0, endpoint_.address.rfind(':') + 1) +
                      std::to_string(acceptor_->local_endpoint(error).port());
  core_->remember(shared_from_this());
  accept_next();
  return {};
}

void Acceptance::accept_next() {
  acceptor_->async_accept([self = shared_from_this()](const error_code& error, Socket socket) {
    if (!self->acceptor_ || !self->acceptor_->is_open()) return;
    if (!error) {
      self->begin_handshake(std::move(socket));
    } else if (error != asio::error::connection_aborted) {
      return self->rest();
    }
    self->accept_next();
  });
}

void Acceptance::rest() {
  core_->env.log().warning_once("accept", to_string(endpoint_) + ": cannot take new connections for now; are there too "
                                                                 "many open files?");
  rest_timer_.emplace(core_->io, kRest);
  rest_timer_->async_wait([self = shared_from_this()](const error_code& error) {
    if (!error && self->acceptor_) self->accept_next();
  });
}

void Acceptance::begin_handshake(Socket socket) {
  if (handshakes_.size() >= kHandshakesMax) {
    handshakes_.front()->drop();
    handshakes_.pop_front();
  }
  handshakes_.push_back(std::make_shared<Handshake>(weak_from_this(), *core_, std::move(socket)));
  handshakes_.back()->start(options_.handshake_timeout);
}

std::shared_ptr<void> Acceptance::take_slot() {
  if (*slots_taken_ >= options_.connections_max) return nullptr;
  ++*slots_taken_;
  return {slots_taken_.get(), [taken = slots_taken_](void*) { --*taken; }};
}

void Acceptance::finished(Handshake& handshake, std::shared_ptr<Link> link) {
  const auto mine = [&](const std::shared_ptr<Handshake>& other) { return other.get() == &handshake; };
  if (const auto found = std::find_if(handshakes_.begin(), handshakes_.end(), mine); found != handshakes_.end())
    handshakes_.erase(found);
  if (!link) return;
  if (!acceptor_) return;
  link->start();
  ready_.push_back(std::move(link));
  waits_->wake_first();
}

Task<Result<std::unique_ptr<Connection>>> Acceptance::accept(Deadline deadline) {
  return accept_on(shared_from_this(), deadline);
}

// Static and by value: the listener may be destroyed while it waits.
Task<Result<std::unique_ptr<Connection>>> Acceptance::accept_on(std::shared_ptr<Acceptance> self, Deadline deadline) {
  while (true) {
    if (!self->ready_.empty()) {
      std::shared_ptr<Link> link = std::move(self->ready_.front());
      self->ready_.pop_front();
      co_return make_connection(std::move(link));
    }
    if (!self->acceptor_) co_return cancelled();
    auto wait = self->waits_->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end == WaitEnd::kCancelled) co_return cancelled();
    if (end == WaitEnd::kDeadline)
      co_return deadline_exceeded(to_string(self->endpoint_) + ": nobody connected in time");
  }
}

void Acceptance::close() {
  if (!acceptor_) return;
  const auto self = shared_from_this();
  acceptor_.reset();
  rest_timer_.reset();
  core_->forget(this);
  for (const auto& handshake : std::exchange(handshakes_, {})) handshake->drop();
  for (const auto& link : std::exchange(ready_, {})) link->close(unavailable(to_string(endpoint_) + ": stopped listening"));
  waits_->stop();
  if (core_->open()) core_->postbox->post([self] { self->waits_->wake_all(); });
}

void Acceptance::shut_down(SteadyTime) { close(); }

}  // namespace shoal::transport::tcp
