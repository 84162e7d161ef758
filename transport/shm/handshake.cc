// SPDX-License-Identifier: Apache-2.0
#include "handshake.h"

#include <cstring>

#include "control.h"

namespace shoal::transport::shm {

Handshake::Handshake(std::weak_ptr<stream::Acceptance> owner, std::shared_ptr<Core> core, File socket)
    : stream::Handshake(std::move(owner), *core), core_(std::move(core)), accepted_(std::move(socket)) {}

void Handshake::begin() {
  socket_.emplace(core_->io);
  error_code error;
  socket_->assign(accepted_.get(), error);
  if (error) return end(nullptr);
  accepted_.release();
  socket_->async_wait(Watched::wait_read, [self = stream::self_of(this)](const error_code& failed) {
    if (!failed && self->socket_) self->read_preamble();
  });
}

void Handshake::read_preamble() {
  const auto acceptance = owner();
  end(acceptance ? admit(*acceptance) : nullptr);
}

// Peers of another user and peers that are not Shoal get no answer.
std::shared_ptr<Link> Handshake::admit(stream::Acceptance& acceptance) {
  const int socket = socket_->native_handle();
  const Datagram datagram = receive_datagram(socket);
  Preamble theirs{.magic = 0};
  if (datagram.kind != Datagram::Kind::kData || datagram.bytes != sizeof theirs) return nullptr;
  std::memcpy(&theirs, datagram.data.data(), sizeof theirs);
  const Result<pid_t> process = check_same_user(socket);
  if (theirs.magic != Preamble::kMagic || !process) return nullptr;
  const Endpoint peer{"shm", acceptance.endpoint().address + "#" + std::to_string(*process)};
  Preamble answer{.layout = kLayout, .heartbeat = theirs.heartbeat ? heartbeat_ms(acceptance.options()) : HeartbeatMs(0)};
  Mapping rings;
  std::shared_ptr<void> slot;
  if (theirs.protocol != kProtocolVersion || theirs.layout != kLayout) {
    answer.status = kOtherProtocol;
    core_->env.log().warning_once("protocol " + std::to_string(theirs.protocol),
                                  to_string(peer) + ": refused: it speaks protocol " + std::to_string(theirs.protocol) +
                                      "." + std::to_string(theirs.layout) + ", this build " +
                                      std::to_string(kProtocolVersion) + "." + std::to_string(kLayout) +
                                      "; install the same version of Shoal everywhere");
  } else if (slot = acceptance.admit(peer); !slot) {
    answer.status = kFull;
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
                            .heartbeat = intervals(acceptance.options(), theirs)};
  return std::make_shared<Link>(core_, std::move(handshake), acceptance.options(), slot);
}

}  // namespace shoal::transport::shm
