#include "listener.h"

#include <algorithm>

#include "tcp_connection.h"

namespace shoal::transport::tcp {
namespace {

// Peers may knock without ever saying anything: beyond this many, the oldest is dropped for the newest.
constexpr size_t kKnocksMax = 256;
// When descriptors run out, accepting pauses rather than spins.
constexpr auto kRest = std::chrono::milliseconds(50);

}  // namespace

/// One peer that has connected and not yet introduced itself. Holds a socket, a timer and 16 bytes.
class Knock final : public std::enable_shared_from_this<Knock> {
 public:
  Knock(std::weak_ptr<Acceptance> owner, Core& core, Socket socket)
      : owner_(std::move(owner)), socket_(std::move(socket)), timer_(core.io) {}

  void start(Duration timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->end(nullptr);
    });
    asio::async_read(socket_, asio::buffer(bytes_), [self = shared_from_this()](const error_code& error, size_t) {
      error ? self->end(nullptr) : self->introduce();
    });
  }
  /// The handlers end with an error.
  void drop() {
    owner_.reset();
    error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
  }

 private:
  void introduce() {
    const auto owner = owner_.lock();
    const Result<Preamble> theirs = decode(bytes_);
    error_code error;
    const SocketAddress address = socket_.remote_endpoint(error);
    if (!owner || !theirs || error) return end(nullptr);  // strangers get no answer
    const Endpoint peer{"tcp", to_text(address)};
    Preamble answer{.checksum = owner->options().checksum || !is_loopback(address)};
    std::shared_ptr<void> slot;
    if (theirs->protocol != kProtocolVersion) {
      answer.status = kOtherProtocol;
      owner->core().env.log().warning_once(
          "protocol " + address.address().to_string(),
          to_string(peer) + ": refused: it speaks protocol " + std::to_string(theirs->protocol) + ", this build " +
              std::to_string(kProtocolVersion) + "; install the same version of Shoal everywhere");
    } else if (slot = owner->take_slot(); !slot) {
      answer.status = kFull;
      owner->core().env.log().warning_once("full", to_string(owner->endpoint()) + ": refused " + to_string(peer) + ": " +
                                                       std::to_string(owner->options().connections_max) +
                                                       " connections are open already");
    }
    const PreambleBytes reply = encode(answer);
    socket_.non_blocking(true, error);
    const size_t sent = socket_.write_some(asio::buffer(reply), error);  // an empty socket takes 16 bytes at once
    if (error || sent != reply.size() || !slot) return end(nullptr);
    const bool checksum = answer.checksum || theirs->checksum;
    end(std::make_shared<Link>(owner->shared_core(), std::move(socket_), peer, owner->options(), checksum, slot));
  }

  void end(std::shared_ptr<Link> link) {
    const auto owner = std::exchange(owner_, {}).lock();
    drop();
    if (owner) owner->finished(*this, std::move(link));
  }

  std::weak_ptr<Acceptance> owner_;
  Socket socket_;
  asio::steady_timer timer_;
  PreambleBytes bytes_;
};

Acceptance::Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options)
    : core_(std::move(core)),
      endpoint_(std::move(endpoint)),
      options_(options),
      waits_(std::make_shared<WaitList>(core_->env)) {}

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
      self->knocked(std::move(socket));
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

void Acceptance::knocked(Socket socket) {
  if (knocks_.size() >= kKnocksMax) {
    knocks_.front()->drop();
    knocks_.pop_front();
  }
  knocks_.push_back(std::make_shared<Knock>(weak_from_this(), *core_, std::move(socket)));
  knocks_.back()->start(options_.handshake_timeout);
}

std::shared_ptr<void> Acceptance::take_slot() {
  if (*slots_taken_ >= options_.connections_max) return nullptr;
  ++*slots_taken_;
  return {slots_taken_.get(), [taken = slots_taken_](void*) { --*taken; }};
}

void Acceptance::finished(Knock& knock, std::shared_ptr<Link> link) {
  const auto mine = [&](const std::shared_ptr<Knock>& other) { return other.get() == &knock; };
  if (const auto found = std::find_if(knocks_.begin(), knocks_.end(), mine); found != knocks_.end()) knocks_.erase(found);
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
      co_return make_tcp_connection(std::move(link));
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
  for (const auto& knock : std::exchange(knocks_, {})) knock->drop();
  for (const auto& link : std::exchange(ready_, {})) link->close(unavailable(to_string(endpoint_) + ": stopped listening"));
  waits_->stop();
  if (core_->open()) core_->postbox->post([self] { self->waits_->wake_all(); });
}

void Acceptance::shut_down(SteadyTime) { close(); }

}  // namespace shoal::transport::tcp
