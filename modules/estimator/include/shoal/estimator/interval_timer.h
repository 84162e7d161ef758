// SPDX-License-Identifier: Apache-2.0
#pragma once
/// When something that is due every so often is due (CONTRACT HK-7): the timer that the built-in hooks share.
#include <cstdint>
#include <optional>

#include "shoal/base/time.h"

namespace shoal {

class IntervalTimer {
 public:
  /// Takes one of the two; with neither it is never due. A value of 0 is never due. Raises InvalidArgument for both.
  IntervalTimer(std::optional<int64_t> every_steps, std::optional<double> every_secs);

  /// True on the first question ever; then if the step differs from the last triggering one, and it is at least that plus
  /// N (steps) or T seconds have passed since.
  bool due(uint64_t step, SteadyTime now) const;
  struct Elapsed {
    uint64_t steps = 0;
    Duration time{};
  };
  /// Notes that it triggered; what passed since the last time (zeros the first time, and where the step went back).
  Elapsed trigger(uint64_t step, SteadyTime now);
  bool enabled() const;
  std::optional<uint64_t> last_step() const { return last_step_; }
  /// The next question is the first again.
  void reset();
  /// Resets if training has gone back behind the last triggering step: for after_ready() with the step it goes on from,
  /// since a timer of steps would else be silent until that step is passed again.
  void reset_if_behind(uint64_t step);

 private:
  std::optional<int64_t> every_steps_;
  std::optional<double> every_secs_;
  std::optional<uint64_t> last_step_;
  SteadyTime last_time_{};
};

}  // namespace shoal
