#include "listener.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "address.h"
#include "handshake.h"
#include "shoal/transport/handles.h"

namespace shoal::transport::shm {
namespace {

// Peers may connect and never say anything: beyond this many, the oldest is dropped for the newest.
constexpr size_t kHandshakesMax = 256;
// When descriptors run out, accepting pauses rather than spins.
constexpr auto kRest = std::chrono::milliseconds(50);
constexpr int kBacklog = 1024;

}  // namespace

Acceptance::Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options)
    : core_(std::move(core)),
      endpoint_(std::move(endpoint)),
      options_(options),
      waits_(std::make_shared<WaitQueue>(core_->env)) {}

Result<File> Acceptance::listening_socket() {
  File socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool any_number = endpoint_.address.ends_with(":0");
  const std::string stem = endpoint_.address.substr(0, endpoint_.address.size() - (any_number ? 1 : 0));
  bool bound = false;
  for (int attempt = 0; socket && !bound && attempt < (any_number ? 100 : 1); ++attempt) {
    constexpr uint64_t kFirst = 10000, kCount = 50000;
    if (any_number) endpoint_.address = stem + std::to_string(kFirst + core_->env.entropy() % kCount);
    SHOAL_TRY(const SocketName name, socket_name(endpoint_));
    bound = ::bind(socket.get(), name.get(), name.bytes) == 0;
    if (!bound && errno != EADDRINUSE) break;
  }
  if (bound && ::listen(socket.get(), kBacklog) == 0) return socket;
  const bool taken = errno == EADDRINUSE;
  return unavailable(to_string(endpoint_) + ": cannot listen there: " + std::strerror(errno) +
                     (taken ? "; another process has this address, choose another or end that one" : ""));
}

Result<void> Acceptance::open() {
  SHOAL_TRY(File socket, listening_socket());
  socket_.emplace(core_->io);
  error_code error;
  socket_->assign(socket.get(), error);
  if (error) return unavailable(to_string(endpoint_) + ": its socket cannot be watched: " + error.message());
  socket.release();
  core_->remember(shared_from_this());
  wait_for_peers();
  return {};
}

void Acceptance::wait_for_peers() {
  socket_->async_wait(Watched::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error && self->socket_) self->accept_peers();
  });
}

void Acceptance::accept_peers() {
  constexpr int kAtOnce = 64;  // the rest come in the next turn of the loop
  for (int i = 0; i < kAtOnce; ++i) {
    File socket(::accept4(socket_->native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      begin_handshake(std::move(socket));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return rest();
    }
  }
  wait_for_peers();
}

void Acceptance::rest() {
  core_->env.log().warning_once("accept", to_string(endpoint_) +
                                              ": cannot take new connections for now; are there too "
                                              "many open files?");
  rest_timer_.emplace(core_->io, kRest);
  rest_timer_->async_wait([self = shared_from_this()](const error_code& error) {
    if (!error && self->socket_) self->wait_for_peers();
  });
}

void Acceptance::begin_handshake(File socket) {
  if (handshakes_.size() >= kHandshakesMax) {
    handshakes_.front()->drop();
    handshakes_.pop_front();
  }
  const auto handshake = handshakes_.emplace_back(std::make_shared<Handshake>(weak_from_this(), *core_));
  handshake->start(std::move(socket), options_.handshake_timeout);
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
  if (!link || !socket_) return;
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
    if (!self->socket_) co_return cancelled();
    auto wait = self->waits_->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end == WaitEnd::kCancelled) co_return cancelled();
    if (end == WaitEnd::kDeadline) co_return deadline_exceeded(to_string(self->endpoint_) + ": nobody connected in time");
  }
}

void Acceptance::close() {
  if (!socket_) return;
  const auto self = shared_from_this();
  socket_.reset();
  rest_timer_.reset();
  core_->forget(this);
  for (const auto& handshake : std::exchange(handshakes_, {})) handshake->drop();
  for (const auto& link : std::exchange(ready_, {})) link->close(unavailable(to_string(endpoint_) + ": stopped listening"));
  waits_->stop();
  if (core_->open()) core_->postbox->post([self] { self->waits_->wake_all(); });
}

}  // namespace shoal::transport::shm
