// SPDX-License-Identifier: Apache-2.0
#include "raw_peer.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "shoal/base/check.h"

namespace shoal::transport::shm {

namespace {

constexpr uid_t kNobody = 65534;

// Changes the user of this thread alone, unlike the function of the C library.
void become(uid_t user) { SHOAL_CHECK(::syscall(SYS_setresuid, -1, user, -1) == 0); }

SocketName name_of(const Endpoint& endpoint) {
  const auto name = socket_name(endpoint);
  SHOAL_CHECK(name);
  return *name;
}

}  // namespace

bool AnotherUser::possible() { return ::geteuid() == 0; }
AnotherUser::AnotherUser() { become(kNobody); }
AnotherUser::~AnotherUser() { become(0); }

RawPeer::RawPeer(const Endpoint& endpoint) : RawPeer(name_of(endpoint)) {}

RawPeer::RawPeer(const SocketName& name) : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  SHOAL_CHECK(socket_ && ::connect(socket_.get(), name.get(), name.bytes) == 0);
}

bool RawPeer::send(std::span<const std::byte> bytes, int descriptor) {
  return send_datagram(socket_.get(), bytes, descriptor) == Sent::kDone;
}

bool RawPeer::readable_within(int timeout_ms) {
  pollfd readable{socket_.get(), POLLIN, 0};
  return ::poll(&readable, 1, timeout_ms) == 1;
}

std::optional<Preamble> RawPeer::introduce(Preamble ours) {
  Result<Segment> rings = create_segment(kRingsBytes, PeersMay::kWrite);
  SHOAL_CHECK(rings);
  if (!send(ours, rings->file.get()) || !readable_within(10000)) return std::nullopt;
  const Datagram answer = receive_datagram(socket_.get());
  if (answer.kind != Datagram::Kind::kData || answer.bytes != sizeof(Preamble)) return std::nullopt;
  rings_.emplace(std::move(rings->memory), 0);
  Preamble theirs;
  std::memcpy(&theirs, answer.data.data(), sizeof theirs);
  return theirs;
}

bool RawPeer::ended_within(int timeout_ms) {
  while (readable_within(timeout_ms)) {
    if (receive_datagram(socket_.get()).kind == Datagram::Kind::kEnd) return true;
  }
  return false;
}

int RawPeer::rings_heard() {
  int count = 0;
  while (readable_within(0)) {
    const Datagram datagram = receive_datagram(socket_.get());
    if (datagram.kind == Datagram::Kind::kEnd) break;
    count += datagram.bytes == kRingBytes;
  }
  return count;
}

Mapping& RawPeer::share(uint64_t id, size_t bytes) {
  Result<Segment> made = create_segment(bytes, PeersMay::kWrite);
  SHOAL_CHECK(made);
  shared_ = std::move(*made);
  const Notice notice{.kind = Notice::kSegment, .id = id, .bytes = shared_->memory.bytes()};
  send(notice, shared_->file.get());
  return shared_->memory;
}

void RawPeer::publish(const Descriptor& descriptor) {
  std::memcpy(&sent().descriptors[written_ % kDescriptors], &descriptor, sizeof descriptor);
  sent().written.store(++written_);
  ring();
}

}  // namespace shoal::transport::shm
