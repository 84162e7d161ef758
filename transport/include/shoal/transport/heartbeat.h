// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For implementers of a transport between processes: detects that the peer of a connection has fallen silent.
#include <algorithm>
#include <chrono>
#include <string>

#include "shoal/base/time.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// The heartbeat interval as it is sent in the handshake: 0 if this side sends no heartbeats and wants none, else at least
/// 1.
using HeartbeatMs = uint16_t;
inline HeartbeatMs heartbeat_ms(const LinkOptions& options) {
  using std::chrono::milliseconds;
  const auto interval = std::chrono::ceil<milliseconds>(options.heartbeat_interval);
  return HeartbeatMs(std::clamp(interval, milliseconds(0), milliseconds(65535)).count());
}

/// Computes times only; the code that owns the clock and the socket reports each event to it. A side without other traffic
/// sends a heartbeat once in each interval. A peer that has been silent for three of its intervals counts as gone.
class Heartbeat {
 public:
  /// The heartbeat intervals that the two sides have announced. If either is zero, neither side sends heartbeats.
  struct Intervals {
    Duration ours{};
    Duration theirs{};
  };
  Heartbeat(Intervals intervals, SteadyTime now)
      : intervals_(intervals), sent_at_(now), received_at_(now), silent_since_(now) {}

  bool enabled() const { return intervals_.ours.count() > 0 && intervals_.theirs.count() > 0; }
  void sent(SteadyTime now) { sent_at_ = now; }
  void received(SteadyTime now) { received_at_ = silent_since_ = now; }
  /// Counts the peer's silence from `now`, because this side did not read before.
  void restart_silence(SteadyTime now) { silent_since_ = now; }
  SteadyTime received_at() const { return received_at_; }

  /// True if it is time to send a heartbeat.
  bool is_due(SteadyTime now) const { return now >= sent_at_ + intervals_.ours; }
  bool is_silent(SteadyTime now) const { return now >= silent_since_ + silence_max(); }
  Duration silence_max() const { return 3 * intervals_.theirs; }
  /// The error "tcp://...: the peer has been silent for 15 s".
  Error silence_of(const std::string& peer) const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silence_max()).count();
    const std::string duration = ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
    return unavailable(peer + ": the peer has been silent for " + duration);
  }
  /// The next time at which is_due() or is_silent() may become true.
  SteadyTime next() const { return std::min(sent_at_ + intervals_.ours, silent_since_ + silence_max()); }

 private:
  Intervals intervals_;
  SteadyTime sent_at_;
  SteadyTime received_at_;
  SteadyTime silent_since_;
};

}  // namespace shoal::transport
