// SPDX-License-Identifier: Apache-2.0
// A connection to a listener of tcp, from its first byte to its end.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "frame.h"
#include "listening.h"
#include "target.h"

namespace shoal::fuzz {
namespace {

using Bytes = std::vector<std::byte>;
namespace tcp = transport::tcp;

// Bits of the first byte of the input.
constexpr uint8_t kPreamble = 1;   // A good preamble comes first.
constexpr uint8_t kSealed = 2;     // Heads get right checksums, which no chance finds.
constexpr uint8_t kChecksums = 4;  // The good preamble asks for checksums of bodies.

void seal(std::span<std::byte> bytes) {
  while (bytes.size() >= tcp::kFrameBytes) {
    uint64_t body_bytes = 0;
    std::memcpy(&body_bytes, &bytes[8], sizeof body_bytes);
    const std::span<std::byte> rest = bytes.subspan(tcp::kFrameBytes);
    if (body_bytes <= rest.size()) {
      const uint64_t checksum = tcp::checksum_of(rest.first(body_bytes));
      if ((bytes[6] & std::byte(1)) != std::byte(0)) std::memcpy(&bytes[72], &checksum, sizeof checksum);
    }
    const uint64_t checksum = tcp::checksum_of(bytes.first(80));
    std::memcpy(&bytes[80], &checksum, sizeof checksum);
    if (body_bytes > rest.size()) return;
    bytes = rest.subspan(body_bytes);
  }
}

Bytes stream_of(Input input) {
  const auto how = input.take<uint8_t>();
  Bytes bytes;
  if (how & kPreamble) {
    const tcp::PreambleBytes preamble = tcp::encode(tcp::Preamble{.checksum = (how & kChecksums) != 0});
    bytes.assign(preamble.begin(), preamble.end());
  }
  const std::span<const std::byte> rest = input.take_bytes(input.size());
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  if ((how & kSealed) && bytes.size() > tcp::kPreambleBytes) seal(std::span(bytes).subspan(tcp::kPreambleBytes));
  return bytes;
}

/// Each connection is from another address of this machine: ended ones keep their ports for a minute, and one address would
/// run out of them.
void bind_to_next_address(int peer) {
  static uint32_t count = 0;
  ++count;
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl((uint32_t(127) << 24) + (count / 250 % 250 << 8) + 2 + count % 250);
  const int on = 1;  // The port is chosen when the peer connects.
  SHOAL_CHECK(::setsockopt(peer, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) == 0);
  SHOAL_CHECK(::bind(peer, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0);
}

int connect_to(const transport::Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(std::stoi(endpoint.address.substr(endpoint.address.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int peer = ::socket(AF_INET, SOCK_STREAM, 0);
  SHOAL_CHECK(peer >= 0);
  bind_to_next_address(peer);
  SHOAL_CHECK(::connect(peer, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return peer;
}

bool ended(int peer) {
  std::array<char, 65536> scratch;
  for (;;) {
    const ssize_t count = ::recv(peer, scratch.data(), scratch.size(), MSG_DONTWAIT);
    if (count > 0) continue;
    return count == 0 || errno != EAGAIN;
  }
}

void speak(const Bytes& bytes) {
  static Listening& listening = *new Listening({"tcp", "127.0.0.1:0"});
  const int peer = connect_to(listening.endpoint());
  (void)::send(peer, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(peer, SHUT_WR);
  listening.serve_until([peer] { return ended(peer); });
  ::close(peer);
}

}  // namespace
}  // namespace shoal::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shoal::fuzz::speak(shoal::fuzz::stream_of({data, size}));
  return 0;
}
