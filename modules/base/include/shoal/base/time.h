// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two clocks. Code of tasks reads them through Environment, so that simulations control time.
#include <cstdint>

// libstdc++'s <chrono> includes calendars, time zones and <sstream>, which cost compile time. Since GCC 12, clocks and
// durations have a header of their own. See std_function.h.
#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

namespace shoal {

using Duration = std::chrono::nanoseconds;

/// Monotonic, for intervals and deadlines. The clock's zero means nothing.
struct SteadyClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SteadyClock>;
};
using SteadyTime = SteadyClock::time_point;

/// Unix wall time, for timestamps in names and events only.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// Reads the machine's wall clock; correct after the year 2038 on 32-bit machines, too. Tasks call Environment::wall_now()
/// instead.
WallTime read_wall_clock();

/// The moment at which a wait ends without success, usually with DeadlineExceeded.
using Deadline = SteadyTime;
inline constexpr Deadline kNoDeadline = Deadline::max();  ///< For waits inside another wait that has a deadline.

/// Converts seconds. Limits the result to a century, positive or negative, so that a huge interval cannot overflow a clock.
Duration seconds_to_duration(double seconds);
double to_seconds(Duration duration);

}  // namespace shoal
