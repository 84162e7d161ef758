// SPDX-License-Identifier: Apache-2.0
// A connection to a listener of shm: greeting, notices, rings and shared memory, all as the input has them.
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "address.h"
#include "control.h"
#include "listening.h"
#include "rings.h"
#include "target.h"

namespace shoal::fuzz {
namespace {

namespace shm = transport::shm;

constexpr uint8_t kGreets = 1;  // This bit of the input's first byte asks for a good greeting.
constexpr size_t kNoticesMax = 4;
constexpr size_t kNoticeBytesMax = 80;  // More bytes than a listener takes.
constexpr size_t kDescriptorsMax = 4;
constexpr size_t kMemoryBytes = 8192;

shm::Segment segment(size_t bytes) {
  Result<shm::Segment> made = shm::create_segment(bytes, shm::PeersMay::kWrite);
  SHOAL_CHECK(made);
  return std::move(*made);
}

/// What a peer shares: made once, filled for each input.
struct Shared {
  shm::Segment rings = segment(shm::kRingsBytes);
  shm::Segment memory = segment(kMemoryBytes);
  int file(uint8_t which) const { return which % 3 == 0 ? -1 : which % 3 == 1 ? memory.file.get() : rings.file.get(); }
};

void send(int socket, std::span<const std::byte> bytes, int file) { (void)shm::send_datagram(socket, bytes, file); }

void greet(int socket, Input& input, const Shared& shared) {
  const auto how = input.take<uint8_t>();
  shm::Preamble greeting{.layout = shm::kLayout};
  if (!(how & kGreets)) greeting = input.take<shm::Preamble>();
  send(socket, std::as_bytes(std::span(&greeting, 1)), shared.file(how & kGreets ? 2 : uint8_t(how >> 1)));
}

void give_notice(int socket, Input& input, const Shared& shared) {
  const size_t count = std::min<size_t>(input.take<uint8_t>(), kNoticesMax);
  for (size_t i = 0; i < count; ++i) {
    const auto which = input.take<uint8_t>();
    const size_t bytes = std::min<size_t>(input.take<uint8_t>(), kNoticeBytesMax);
    send(socket, input.take_bytes(bytes), shared.file(which));
  }
}

void fill(Input& input, const Shared& shared) {
  std::memset(shared.rings.memory.data(), 0, shm::kRingsBytes);
  auto& layout = *reinterpret_cast<shm::RingsLayout*>(shared.rings.memory.data());
  shm::Lane &ours = layout.lanes[0], &theirs = layout.lanes[1];
  layout.sides[0].wants = input.take<uint8_t>();
  ours.written = input.take<uint32_t>();
  theirs.read = input.take<uint32_t>();
  theirs.given_back = input.take<uint32_t>();
  theirs.returns[0] = input.take<uint32_t>();
  for (size_t i = 0; i < kDescriptorsMax; ++i) ours.descriptors[i] = input.take<shm::Descriptor>();
  const std::span<const std::byte> memory = input.take_bytes(kMemoryBytes);
  std::ranges::fill(std::span(shared.memory.memory.data(), kMemoryBytes), std::byte());
  std::ranges::copy(memory, shared.memory.memory.data());
}

bool ended(int socket) {
  for (;;) {
    const shm::Datagram datagram = shm::receive_datagram(socket);
    if (datagram.kind != shm::Datagram::Kind::kData) return datagram.kind == shm::Datagram::Kind::kEnd;
  }
}

void speak(Input input) {
  static const Shared shared;
  static Listening& listening = *new Listening({"shm", "here:0"});
  const Result<shm::SocketName> name = shm::socket_name(listening.endpoint());
  SHOAL_CHECK(name);
  const shm::File peer(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  SHOAL_CHECK(peer && ::connect(peer.get(), name->get(), name->bytes) == 0);
  greet(peer.get(), input, shared);
  give_notice(peer.get(), input, shared);
  fill(input, shared);
  ::shutdown(peer.get(), SHUT_WR);
  listening.serve_until([&peer] { return ended(peer.get()); });
}

}  // namespace
}  // namespace shoal::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shoal::fuzz::speak({data, size});
  return 0;
}
