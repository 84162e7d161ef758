// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include <cerrno>

#include "address.h"
#include "handshake.h"
#include "shoal/base/exhaustion.h"

namespace shoal::transport::shm {
namespace {

constexpr int kBacklog = 1024;

Result<File> bind_and_listen(Core& core, Endpoint& endpoint) {
  File socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool any_number = endpoint.address.ends_with(":0");
  const std::string stem = endpoint.address.substr(0, endpoint.address.size() - (any_number ? 1 : 0));
  bool bound = false;
  for (int attempt = 0; socket && !bound && attempt < (any_number ? 100 : 1); ++attempt) {
    constexpr uint64_t kFirst = 10000, kCount = 50000;
    if (any_number) endpoint.address = stem + std::to_string(kFirst + core.env.entropy() % kCount);
    SHOAL_TRY(const SocketName name, socket_name(endpoint));
    bound = ::bind(socket.get(), name.get(), name.bytes) == 0;
    if (!bound && errno != EADDRINUSE) break;
  }
  if (bound && ::listen(socket.get(), kBacklog) == 0) return socket;
  const bool taken = errno == EADDRINUSE;
  return unavailable(to_string(endpoint) + ": cannot listen there: " + system_error_text(errno) +
                     (taken ? "; another process uses this address: choose another, or end that process" : ""));
}

}  // namespace

Result<Watched> listen_on(Core& core, Endpoint& endpoint) {
  SHOAL_TRY(File socket, bind_and_listen(core, endpoint));
  Watched watched(core.io);
  error_code error;
  watched.assign(socket.get(), error);
  if (error)
    return unavailable(to_string(endpoint) + ": its socket cannot be watched: " + system_error_text(error.value()));
  socket.release();
  return watched;
}

Acceptance::Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options, Watched socket)
    : stream::Acceptance(core, std::move(endpoint), std::move(options)),
      shm_core_(std::move(core)),
      socket_(std::move(socket)) {}

void Acceptance::accept_next() {
  socket_->async_wait(Watched::wait_read, [self = stream::self_of(this)](const error_code& error) {
    if (!error && self->socket_) self->accept_peers();
  });
}

void Acceptance::accept_peers() {
  constexpr int kAtOnce = 64;  // Further peers are accepted in the next turn of the loop.
  for (int i = 0; i < kAtOnce; ++i) {
    File socket(::accept4(socket_->native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      begin_handshake(std::make_shared<Handshake>(weak_from_this(), shm_core_, std::move(socket)));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return pause_accepting(system_error_text(errno));
    }
  }
  accept_next();
}

}  // namespace shoal::transport::shm
