// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <algorithm>
#include <cmath>

namespace shoal::transport::sim {
namespace {

constexpr uint64_t kPacketBytes = 1460;
/// Linux's minimum time until a packet without successors is sent again (RFC 6298 says 1 s).
constexpr Duration kResendMin = std::chrono::milliseconds(200);
/// At most this many packets of a message are simulated; in a larger message each of them stands for several packets.
constexpr uint64_t kDrawnMax = 256;

Duration seconds_of(double seconds) { return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)); }

}  // namespace

Stream::Sent Stream::send(SteadyTime now, uint64_t bytes, const SimLink& link) {
  const uint64_t packets = std::max<uint64_t>(1, (bytes + kPacketBytes - 1) / kPacketBytes);
  const uint64_t drawn = std::min(packets, kDrawnMax);
  uint64_t resent = 0, twice = 0, rounds = 0;
  bool tail_lost = false;
  if (link.loss > 0 || link.duplication > 0) {
    for (uint64_t packet = 0; packet < drawn; ++packet) {
      uint64_t tries = 0;
      while (double(random_.next_float()) < link.loss) ++tries;
      if (double(random_.next_float()) < link.duplication) ++twice;
      resent += tries;
      rounds = std::max(rounds, tries);
      // Fewer than three packets follow, too few to tell the sender of the gap (RFC 5681, 3.2).
      tail_lost |= tries > 0 && packet + 3 >= drawn;
    }
  }
  const double scale = double(packets) / double(drawn);
  Sent sent{.left = std::max(now, free_), .arrival = {}, .packets_lost = uint64_t(std::llround(double(resent) * scale))};
  if (link.bytes_per_second > 0) {
    const double extra = double(resent + twice) * scale * double(kPacketBytes);
    sent.left += seconds_of((double(bytes) + extra) / link.bytes_per_second);
  }
  free_ = sent.left;
  sent.arrival = sent.left + link.latency;
  if (link.jitter > Duration::zero())
    sent.arrival += seconds_of(std::chrono::duration<double>(link.jitter).count() * double(random_.next_float()));
  // Each time that a packet is lost, sending it again takes one more round trip. The receiver's answers to later packets
  // tell the sender of the loss. If too few packets follow, the sender has to wait for its timer, too.
  sent.arrival += int64_t(rounds) * (2 * link.latency) + (tail_lost ? kResendMin : Duration::zero());
  sent.arrival = std::max(sent.arrival, last_arrival_);
  last_arrival_ = sent.arrival;
  return sent;
}

Stream::Sent Stream::send_last(SteadyTime now, const SimLink& link) {
  const SteadyTime left = std::max(now, free_);
  last_arrival_ = std::max(left + link.latency, last_arrival_);
  return {.left = left, .arrival = last_arrival_};
}

}  // namespace shoal::transport::sim
