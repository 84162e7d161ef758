// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The timer of the built-in hooks: says when a repeated action is due.
#include <cstdint>
#include <optional>

#include "shoal/base/time.h"

namespace shoal {

class IntervalTimer {
 public:
  /// Takes one of the two intervals; without one, or with a value of 0, the timer is never due. Raises InvalidArgument if
  /// both are given.
  IntervalTimer(std::optional<int64_t> every_steps, std::optional<double> every_secs);

  /// True in the first call. Afterwards true if the step differs from that of the last trigger(), and at least
  /// `every_steps` steps or `every_secs` seconds have passed since that call.
  bool due(uint64_t step, SteadyTime now) const;
  struct Elapsed {
    uint64_t steps = 0;
    Duration time{};
  };
  /// Records that the action was done. Returns the steps and the time since the last call; zeros at the first call, and
  /// if `step` is less than at the last call.
  Elapsed trigger(uint64_t step, SteadyTime now);
  bool enabled() const;
  std::optional<uint64_t> last_step() const { return last_step_; }
  /// Makes the next call of due() count as the first one.
  void reset();
  /// Resets the timer if `step` lies before the last triggering step. after_ready() calls it with the step that training
  /// resumes at. Otherwise a timer that counts steps would not be due until training passes the last triggering step.
  void reset_if_behind(uint64_t step);

 private:
  std::optional<int64_t> every_steps_;
  std::optional<double> every_secs_;
  std::optional<uint64_t> last_step_;
  SteadyTime last_time_{};
};

}  // namespace shoal
