// SPDX-License-Identifier: Apache-2.0
#pragma once
/// When this source was written, to tell a clock that was never set from one that is right.
#include <chrono>

namespace shoal {

/// A day by which this version of the source was being written. It is a constant and not the time of the build, so that two builds are
/// equal; each release sets it to a day of its own month.
inline constexpr std::chrono::sys_days kSourceDate{std::chrono::year(2026) / 11 / 1};

/// True of a clock that says a time before this program can have been built, as a board's without a battery does until it was set.
template <class Unit>
constexpr bool is_before_source(std::chrono::sys_time<Unit> now) {
  return now < kSourceDate;
}

}  // namespace shoal
