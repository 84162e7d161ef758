// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstring>

namespace shoal::transport::tcp {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied in the machine's byte order");

constexpr uint32_t kPreambleMagic = 0x414f4853;  // "SHOA".
constexpr uint32_t kFrameMagic = 0x52464853;     // "SHFR".
constexpr uint16_t kWantsChecksum = 1;
constexpr uint16_t kChecksummed = 1;
constexpr uint16_t kFarewell = 2;
constexpr uint16_t kHeartbeat = 4;
constexpr size_t kHeaderChecksumAt = 80;

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

uint64_t checksum_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

PreambleBytes encode(const Preamble& preamble) {
  PreambleBytes bytes;
  put(&bytes[0], kPreambleMagic);
  put(&bytes[4], preamble.protocol);
  put(&bytes[8], uint16_t(preamble.checksum ? kWantsChecksum : 0));
  put(&bytes[10], uint16_t(preamble.heartbeat.count()));
  put(&bytes[12], preamble.status);
  return bytes;
}

Result<Preamble> decode(const PreambleBytes& bytes) {
  if (get<uint32_t>(&bytes[0]) != kPreambleMagic) return data_loss("does not speak Shoal's protocol");
  return Preamble{.protocol = get<uint32_t>(&bytes[4]),
                  .checksum = (get<uint16_t>(&bytes[8]) & kWantsChecksum) != 0,
                  .heartbeat = std::chrono::milliseconds(get<uint16_t>(&bytes[10])),
                  .status = get<uint32_t>(&bytes[12])};
}

void encode(const Frame& frame, FrameBytes& bytes) {
  put(&bytes[0], kFrameMagic);
  put(&bytes[4], uint8_t(kProtocolVersion));
  put(&bytes[5], uint8_t(frame.head.kind));
  put(&bytes[6], uint16_t((frame.checksummed ? kChecksummed : 0) | (frame.farewell ? kFarewell : 0) |
                          (frame.heartbeat ? kHeartbeat : 0)));
  put(&bytes[8], frame.body_bytes);
  put(&bytes[16], frame.head.job);
  put(&bytes[24], frame.head.epoch);
  put(&bytes[32], frame.head.incarnation);
  put(&bytes[40], frame.head.sequence);
  put(&bytes[48], frame.head.reply_to);
  put(&bytes[56], frame.head.global_step);
  put(&bytes[64], uint64_t(frame.head.status));  // Seven zeros follow.
  put(&bytes[72], frame.checksum);
  put(&bytes[kHeaderChecksumAt], checksum_of({bytes.data(), kHeaderChecksumAt}));
}

Result<Frame> decode(const FrameBytes& bytes) {
  if (get<uint32_t>(&bytes[0]) != kFrameMagic) return data_loss("frame does not start with the magic number");
  if (get<uint64_t>(&bytes[kHeaderChecksumAt]) != checksum_of({bytes.data(), kHeaderChecksumAt}))
    return data_loss("frame head is damaged: checksum differs");
  if (get<uint8_t>(&bytes[4]) != uint8_t(kProtocolVersion)) return data_loss("frame of another protocol version");
  const auto kind = get<uint8_t>(&bytes[5]);
  if (kind < uint8_t(MessageKind::kHello) || kind > uint8_t(kMessageKindLast))
    return data_loss("frame of unknown kind " + std::to_string(kind));
  const auto flags = get<uint16_t>(&bytes[6]);
  if ((flags & ~(kChecksummed | kFarewell | kHeartbeat)) != 0) return data_loss("frame with unknown flags");
  Frame frame;
  frame.head = {.kind = MessageKind(kind),
                .status = get<uint8_t>(&bytes[64]),
                .job = get<uint64_t>(&bytes[16]),
                .epoch = get<uint64_t>(&bytes[24]),
                .incarnation = get<uint64_t>(&bytes[32]),
                .sequence = get<uint64_t>(&bytes[40]),
                .reply_to = get<uint64_t>(&bytes[48]),
                .global_step = get<uint64_t>(&bytes[56])};
  frame.checksummed = (flags & kChecksummed) != 0;
  frame.farewell = (flags & kFarewell) != 0;
  frame.heartbeat = (flags & kHeartbeat) != 0;
  frame.body_bytes = get<uint64_t>(&bytes[8]);
  frame.checksum = get<uint64_t>(&bytes[72]);
  return frame;
}

}  // namespace shoal::transport::tcp
