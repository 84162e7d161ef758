#pragma once
/// The two clocks. Both are read through Environment, so that simulations own time.
#include <chrono>
#include <cstdint>

namespace shoal {

using Duration = std::chrono::nanoseconds;

/// Monotonic: for intervals and deadlines. The epoch means nothing.
struct SteadyClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SteadyClock>;
};
using SteadyTime = SteadyClock::time_point;

/// Unix wall time: for timestamps in names and events only.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// The moment at which a wait gives up.
using Deadline = SteadyTime;
inline constexpr Deadline kNoDeadline = Deadline::max();  ///< only inside waits that something else bounds

inline Duration seconds_to_duration(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}
inline double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace shoal
