#include "handshake.h"

#include <cstring>

#include "control.h"

namespace shoal::transport::shm {

Handshake::Handshake(std::weak_ptr<Acceptance> owner, Core& core) : owner_(std::move(owner)) {
  socket_.emplace(core.io);
  timer_.emplace(core.io);
}

void Handshake::start(File socket, Duration timeout) {
  error_code error;
  socket_->assign(socket.get(), error);
  if (error) return end(nullptr);
  socket.release();
  timer_->expires_after(timeout);
  timer_->async_wait([self = shared_from_this()](const error_code& failed) {
    if (!failed) self->end(nullptr);
  });
  socket_->async_wait(Watched::wait_read, [self = shared_from_this()](const error_code& failed) {
    if (!failed && self->socket_) self->read_preamble();
  });
}

void Handshake::drop() {
  owner_.reset();
  socket_.reset();
  timer_.reset();
}

void Handshake::read_preamble() {
  const auto owner = owner_.lock();
  end(owner ? admit(*owner) : nullptr);
}

// Strangers get no answer.
std::shared_ptr<Link> Handshake::admit(Acceptance& owner) {
  const int socket = socket_->native_handle();
  const Datagram datagram = receive_datagram(socket);
  Preamble theirs{.magic = 0};
  if (datagram.kind != Datagram::Kind::kData || datagram.bytes != sizeof theirs) return nullptr;
  std::memcpy(&theirs, datagram.data.data(), sizeof theirs);
  const Result<pid_t> process = check_same_user(socket);
  if (theirs.magic != Preamble::kMagic || !process) return nullptr;
  const Endpoint peer{"shm", owner.endpoint().address + "#" + std::to_string(*process)};
  Preamble answer{.layout = kLayout, .heartbeat = theirs.heartbeat ? heartbeat_ms(owner.options()) : HeartbeatMs(0)};
  Mapping rings;
  std::shared_ptr<void> slot;
  if (theirs.protocol != kProtocolVersion || theirs.layout != kLayout) {
    answer.status = kOtherProtocol;
    owner.core().env.log().warning_once("protocol " + std::to_string(theirs.protocol),
                                        to_string(peer) + ": refused: it speaks protocol " +
                                            std::to_string(theirs.protocol) + "." + std::to_string(theirs.layout) +
                                            ", this build " + std::to_string(kProtocolVersion) + "." +
                                            std::to_string(kLayout) + "; install the same version of Shoal everywhere");
  } else if (slot = owner.take_slot(); !slot) {
    answer.status = kFull;
    owner.core().env.log().warning_once("full", to_string(owner.endpoint()) + ": refused " + to_string(peer) + ": " +
                                                    std::to_string(owner.options().connections_max) +
                                                    " connections are open already");
  } else {
    Result<Mapping> mapped = map_segment(datagram.file, kRingsBytes, PeersMay::kWrite);
    if (!mapped) return nullptr;
    rings = std::move(*mapped);
  }
  if (send_datagram(socket, std::as_bytes(std::span(&answer, 1))) != Sent::kDone || !slot) return nullptr;
  HandshakeResult handshake{.socket = File(socket_->release()),
                            .rings = std::move(rings),
                            .side = 1,
                            .peer = peer,
                            .heartbeat = intervals(owner.options(), theirs)};
  return std::make_shared<Link>(owner.shared_core(), std::move(handshake), owner.options(), slot);
}

void Handshake::end(std::shared_ptr<Link> link) {
  const auto self = shared_from_this();
  const auto owner = owner_.lock();
  drop();
  if (owner) owner->finished(*this, std::move(link));
}

}  // namespace shoal::transport::shm
