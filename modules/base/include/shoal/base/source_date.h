// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A day on which this version of the source was being written. A clock that shows an earlier time has never been set.
#include <chrono>

namespace shoal {

/// A day on which this version of the source was being written. It is a constant, not the time of the build, so that two
/// builds are equal; each release sets it to a day of its own month.
inline constexpr std::chrono::sys_days kSourceDate{std::chrono::year(2026) / 11 / 1};

/// True if the clock shows a time at which this program cannot have existed, as the clock of a board without a battery does
/// at first.
template <class Unit>
constexpr bool is_before_source(std::chrono::sys_time<Unit> now) {
  return now < kSourceDate;
}

}  // namespace shoal
