// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The datagrams of the control socket (AF_UNIX, SOCK_SEQPACKET). They do the handshake, pass the descriptors of shared
/// memory, and wake the other side. Numbers are in the machine's own byte order, since both sides run on one machine.
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "segment.h"
#include "shoal/transport/heartbeat.h"

namespace shoal::transport::shm {

/// The first datagram in each direction. The connecting side's datagram also carries the descriptor of the shared memory
/// through which the two sides exchange messages. The first 8 bytes are the same in all versions of the protocol.
struct Preamble {
  uint32_t magic = kMagic;
  uint32_t protocol = kProtocolVersion;
  uint32_t layout = 0;
  uint16_t status = 0;                            ///< The listening side's answer: kWelcome to kFull.
  /// The interval of the sender's heartbeats; 0: it sends none. If the connecting side sends 0, the answer has 0, too.
  HeartbeatMs heartbeat = 0;
  static constexpr uint32_t kMagic = 0x4d485353;  // "SSHM".
};
static_assert(sizeof(Preamble) == 16);
inline constexpr uint16_t kWelcome = 0;
inline constexpr uint16_t kOtherProtocol = 1;
inline constexpr uint16_t kFull = 2;

/// The heartbeat intervals that the two sides have announced.
inline Heartbeat::Intervals intervals(const LinkOptions& ours, const Preamble& theirs) {
  using std::chrono::milliseconds;
  return {.ours = milliseconds(heartbeat_ms(ours)), .theirs = milliseconds(theirs.heartbeat)};
}

/// The content of every datagram after the preambles.
struct Notice {
  enum Kind : uint32_t {
    kRing = 1,     ///< Wakes the peer, and serves as a heartbeat. Only the kind is sent.
    kSegment = 2,  ///< Carries the file descriptor of segment `id`, which has `bytes` bytes.
    kForget = 3,   ///< Segment `id` is not used any more.
  };
  uint32_t kind = kRing;
  uint32_t zero = 0;
  uint64_t id = 0;
  uint64_t bytes = 0;
};
static_assert(sizeof(Notice) == 24);
inline constexpr size_t kRingBytes = sizeof(uint32_t);
inline constexpr size_t kDatagramBytesMax = 64;  // Longer datagrams are cut, and then refused.

enum class Sent : uint8_t { kDone, kSocketFull, kFailed };  ///< With kFailed, errno says why.
Sent send_datagram(int socket, std::span<const std::byte> bytes, int descriptor = -1);

/// The result of receive_datagram(), which closes all descriptors but the first.
struct Datagram {
  enum class Kind : uint8_t { kData, kNothing, kEnd };
  Kind kind = Kind::kNothing;
  size_t bytes = 0;
  std::array<std::byte, kDatagramBytesMax> data;
  File file;
};
Datagram receive_datagram(int socket);

/// Returns the id of the process at the other end; FailedPrecondition if it belongs to another user.
Result<pid_t> check_same_user(int socket);

}  // namespace shoal::transport::shm
