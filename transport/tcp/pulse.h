#pragma once
/// Whether the two ends of a connection hear of each other.
#include <algorithm>

#include "shoal/base/time.h"

namespace shoal::transport::tcp {

/// Times only; whoever has the clock and the socket tells it what happened. A side that has nothing to say sends a heartbeat
/// once in its interval; who has said nothing for three of them is not there any more.
class Pulse {
 public:
  /// Each as its side has announced it. No heartbeats either way if one of them is zero.
  struct Intervals {
    Duration ours{};
    Duration theirs{};
  };
  Pulse(Intervals intervals, SteadyTime now) : intervals_(intervals), said_at_(now), heard_at_(now) {}

  bool beats() const { return intervals_.ours.count() > 0 && intervals_.theirs.count() > 0; }
  void said(SteadyTime now) { said_at_ = now; }
  void heard(SteadyTime now) { heard_at_ = now; }
  /// It is time to say something.
  bool is_due(SteadyTime now) const { return now >= said_at_ + intervals_.ours; }
  bool is_silent(SteadyTime now) const { return now >= heard_at_ + silence_max(); }
  Duration silence_max() const { return 3 * intervals_.theirs; }
  /// When one of the two may become true.
  SteadyTime next() const { return std::min(said_at_ + intervals_.ours, heard_at_ + silence_max()); }

 private:
  Intervals intervals_;
  SteadyTime said_at_;
  SteadyTime heard_at_;
};

}  // namespace shoal::transport::tcp
