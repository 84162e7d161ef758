// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two clocks. Both are read through Environment, so that simulations own time.
#include <cstdint>

// libstdc++'s <chrono> brings calendars, time zones and <sstream> along; the clocks and durations have a header of their own
// since release 12. See std_function.h.
#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

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

/// Reads the machine's wall clock, and is correct after the year 2038, on 32-bit machines, too. Only code outside of tasks
/// calls this function; a task calls Environment::wall_now().
WallTime read_wall_clock();

/// The moment at which a wait gives up.
using Deadline = SteadyTime;
inline constexpr Deadline kNoDeadline = Deadline::max();  ///< Only inside waits that something else bounds.

/// Clamped to a century either way, so that a huge interval means "never" and adds to any clock without overflow.
Duration seconds_to_duration(double seconds);
double to_seconds(Duration duration);

}  // namespace shoal
