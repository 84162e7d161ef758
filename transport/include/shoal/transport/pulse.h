#pragma once
/// For those who implement a transport between processes: whether the two ends of a connection hear of each other.
#include <algorithm>
#include <chrono>
#include <string>

#include "shoal/base/time.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// As it travels: 0: this side sends no heartbeats and wants none; else at least 1.
using HeartbeatMs = uint16_t;
inline HeartbeatMs heartbeat_ms(const LinkOptions& options) {
  using std::chrono::milliseconds;
  const auto interval = std::chrono::ceil<milliseconds>(options.heartbeat_interval);
  return HeartbeatMs(std::clamp(interval, milliseconds(0), milliseconds(65535)).count());
}

/// Times only; whoever has the clock and the socket tells it what happened. A side that has nothing to say sends a heartbeat
/// once in its interval; who has said nothing for three of them is not there any more.
class Pulse {
 public:
  /// Each as its side has announced it. No heartbeats either way if one of them is zero.
  struct Intervals {
    Duration ours{};
    Duration theirs{};
  };
  Pulse(Intervals intervals, SteadyTime now) : intervals_(intervals), said_at_(now), heard_at_(now), counts_from_(now) {}

  bool beats() const { return intervals_.ours.count() > 0 && intervals_.theirs.count() > 0; }
  void said(SteadyTime now) { said_at_ = now; }
  void heard(SteadyTime now) { heard_at_ = counts_from_ = now; }
  /// Nobody listened until now, so that nothing could be heard.
  void excuse(SteadyTime now) { counts_from_ = now; }
  SteadyTime heard_at() const { return heard_at_; }

  /// It is time to say something.
  bool is_due(SteadyTime now) const { return now >= said_at_ + intervals_.ours; }
  bool is_silent(SteadyTime now) const { return now >= counts_from_ + silence_max(); }
  Duration silence_max() const { return 3 * intervals_.theirs; }
  /// "tcp://...: the peer has been silent for 15 s"
  Error silence_of(const std::string& peer) const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silence_max()).count();
    const std::string duration = ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
    return unavailable(peer + ": the peer has been silent for " + duration);
  }
  /// When one of the two may become true.
  SteadyTime next() const { return std::min(said_at_ + intervals_.ours, counts_from_ + silence_max()); }

 private:
  Intervals intervals_;
  SteadyTime said_at_;
  SteadyTime heard_at_;
  SteadyTime counts_from_;  // the silence
};

}  // namespace shoal::transport
