// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What goes over the control socket, as datagrams of an AF_UNIX SOCK_SEQPACKET: the handshake, memory, and wake-ups.
/// Numbers are in the machine's own order; both ends are on it.
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "segment.h"
#include "shoal/transport/heartbeat.h"

namespace shoal::transport::shm {

/// The first datagram in each direction. The connecting side's carries the memory of the rings. The first 8 bytes never
/// change, whatever the version.
struct Preamble {
  uint32_t magic = kMagic;
  uint32_t protocol = kProtocolVersion;
  uint32_t layout = 0;
  uint16_t status = 0;                            ///< What the answer says: one of kWelcome..kFull.
  HeartbeatMs heartbeat = 0;                      ///< The sender's interval; the answer is 0 if the other has none.
  static constexpr uint32_t kMagic = 0x4d485353;  // "SSHM".
};
static_assert(sizeof(Preamble) == 16);
inline constexpr uint16_t kWelcome = 0;
inline constexpr uint16_t kOtherProtocol = 1;
inline constexpr uint16_t kFull = 2;

/// What the two sides have announced.
inline Heartbeat::Intervals intervals(const LinkOptions& ours, const Preamble& theirs) {
  using std::chrono::milliseconds;
  return {.ours = milliseconds(heartbeat_ms(ours)), .theirs = milliseconds(theirs.heartbeat)};
}

/// Every later datagram.
struct Notice {
  enum Kind : uint32_t {
    kRing = 1,     ///< Wake up, or merely: I am alive. Only the kind is sent.
    kSegment = 2,  ///< Carries the memory of segment `id`, of `bytes` bytes.
    kForget = 3,   ///< Segment `id` is not used any more.
  };
  uint32_t kind = kRing;
  uint32_t zero = 0;
  uint64_t id = 0;
  uint64_t bytes = 0;
};
static_assert(sizeof(Notice) == 24);
inline constexpr size_t kRingBytes = sizeof(uint32_t);
inline constexpr size_t kDatagramBytesMax = 64;  // Longer ones are cut, and so not understood.

enum class Sent : uint8_t { kDone, kSocketFull, kFailed };  ///< With kFailed, errno says why.
Sent send_datagram(int socket, std::span<const std::byte> bytes, int descriptor = -1);

/// One datagram. Descriptors beyond the first are closed.
struct Datagram {
  enum class Kind : uint8_t { kData, kNothing, kEnd };
  Kind kind = Kind::kNothing;
  size_t bytes = 0;
  std::array<std::byte, kDatagramBytesMax> data;
  File file;
};
Datagram receive_datagram(int socket);

/// The process at the other end, if it is of the same user.
Result<pid_t> check_same_user(int socket);

}  // namespace shoal::transport::shm
