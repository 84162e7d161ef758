// SPDX-License-Identifier: Apache-2.0
#pragma once
/// When something that is due every so often is due (CONTRACT HK-7): the timer that the built-in hooks share.
#include <cstdint>
#include <optional>

#include "shoal/base/error.h"
#include "shoal/base/time.h"

namespace shoal {

class IntervalTimer {
 public:
  /// Takes one of the two; with neither it is never due. A value of 0 is never due. Raises InvalidArgument for both.
  IntervalTimer(std::optional<int64_t> every_steps, std::optional<double> every_secs)
      : every_steps_(every_steps), every_secs_(every_secs) {
    if (every_steps && every_secs) raise(invalid_argument("an interval is in steps or in seconds, not in both"));
  }

  /// True on the first question ever; then if the step differs from the last triggering one, and it is at least that plus
  /// N (steps) or T seconds have passed since.
  bool due(uint64_t step, SteadyTime now) const {
    if (!enabled()) return false;
    if (!last_step_) return true;
    if (step == *last_step_) return false;
    if (every_steps_) return step >= *last_step_ + uint64_t(*every_steps_);
    return now - last_time_ >= seconds_to_duration(*every_secs_);
  }
  struct Elapsed {
    uint64_t steps = 0;
    Duration time{};
  };
  /// Notes that it triggered; what passed since the last time (zeros the first time, and where the step went back).
  Elapsed trigger(uint64_t step, SteadyTime now) {
    Elapsed elapsed;
    if (last_step_ && step >= *last_step_) elapsed = {step - *last_step_, now - last_time_};
    last_step_ = step;
    last_time_ = now;
    return elapsed;
  }
  bool enabled() const { return (every_steps_ && *every_steps_ > 0) || (every_secs_ && *every_secs_ > 0); }
  std::optional<uint64_t> last_step() const { return last_step_; }
  /// The next question is the first again.
  void reset() { last_step_.reset(); }
  /// Resets if training has gone back behind the last triggering step: for after_ready() with the step it goes on from,
  /// since a timer of steps would else be silent until that step is passed again.
  void reset_if_behind(uint64_t step) {
    if (last_step_ && step < *last_step_) reset();
  }

 private:
  std::optional<int64_t> every_steps_;
  std::optional<double> every_secs_;
  std::optional<uint64_t> last_step_;
  SteadyTime last_time_{};
};

}  // namespace shoal
