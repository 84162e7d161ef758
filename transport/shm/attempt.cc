// SPDX-License-Identifier: Apache-2.0
#include "attempt.h"

#include <cerrno>
#include <cstring>

#include "address.h"
#include "control.h"
#include "shoal/base/exhaustion.h"

namespace shoal::transport::shm {

Attempt::Attempt(std::shared_ptr<Core> core, Endpoint to, LinkOptions options)
    : stream::Attempt(core, std::move(to), std::move(options)), shm_core_(std::move(core)) {}

void Attempt::begin() {
  if (const Result<void> sent = send_preamble(); !sent) return fail(sent.error());
  limit_handshake();
  wait_answer();
}

// Connects, and sends this side's preamble. Never blocks: if the listener's queue of connections is full, connect() fails
// at once, and the attempt fails with it.
Result<void> Attempt::send_preamble() {
  SHOAL_TRY_VOID(shm_core_->check_memory());
  SHOAL_TRY(const SocketName name, socket_name(to_));
  const auto unreachable = [this](const char* what) {
    return unavailable(sentence(what) + ": " + system_error_text(errno));
  };
  File socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return unreachable("no socket could be made");
  if (::connect(socket.get(), name.get(), name.bytes) != 0)
    return unreachable(errno == EAGAIN ? "too many peers wait there to be accepted" : "no process listens there");
  if (const Result<pid_t> peer = check_same_user(socket.get()); !peer) return peer.error().with_context(to_string(to_));
  Result<Segment> rings = create_segment(kRingsBytes, PeersMay::kWrite);
  if (!rings) return rings.error().with_context(to_string(to_));
  const Preamble ours{.layout = kLayout, .heartbeat = heartbeat_ms(options_)};
  if (send_datagram(socket.get(), std::as_bytes(std::span(&ours, 1)), rings->file.get()) != Sent::kDone)
    return unreachable("connection lost");
  rings_ = std::move(rings->memory);
  socket_.emplace(core_->io);
  error_code error;
  socket_->assign(socket.get(), error);
  if (error) return unavailable(sentence("its socket cannot be watched: ") + system_error_text(error.value()));
  socket.release();
  return {};
}

void Attempt::wait_answer() {
  socket_->async_wait(Watched::wait_read, [self = stream::self_of(this)](const error_code& failed) {
    if (failed || self->done() || !self->socket_) return;
    Result<std::shared_ptr<Link>> link = self->read_answer();
    if (!link) return self->fail(std::move(link).error());
    self->connected(std::move(*link));
  });
}

Result<std::shared_ptr<Link>> Attempt::read_answer() {
  const Datagram datagram = receive_datagram(socket_->native_handle());
  if (datagram.kind != Datagram::Kind::kData) return unavailable(sentence("the listener hung up during the handshake"));
  Preamble theirs{.magic = 0};
  if (datagram.bytes == sizeof theirs) std::memcpy(&theirs, datagram.data.data(), sizeof theirs);
  if (theirs.magic != Preamble::kMagic) return failed_precondition(sentence("the process that listens there is not Shoal"));
  if (theirs.protocol != kProtocolVersion || theirs.layout != kLayout || theirs.status == kOtherProtocol)
    return failed_precondition(sentence("speaks protocol ") + std::to_string(theirs.protocol) + "." +
                               std::to_string(theirs.layout) + ", this build " + std::to_string(kProtocolVersion) + "." +
                               std::to_string(kLayout) + "; install the same version of Shoal everywhere");
  if (theirs.status != kWelcome) return unavailable(sentence("has reached its limit of connections"));
  HandshakeResult handshake{.socket = File(socket_->release()),
                            .rings = std::move(rings_),
                            .side = 0,
                            .peer = to_,
                            .heartbeat = intervals(options_, theirs)};
  return std::make_shared<Link>(shm_core_, std::move(handshake), options_, nullptr);
}

}  // namespace shoal::transport::shm
