// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/interval_timer.h"

#include "shoal/base/error.h"

namespace shoal {

IntervalTimer::IntervalTimer(std::optional<int64_t> every_steps, std::optional<double> every_secs)
    : every_steps_(every_steps), every_secs_(every_secs) {
  if (every_steps && every_secs) raise(invalid_argument("an interval is in steps or in seconds, not in both"));
}

bool IntervalTimer::due(uint64_t step, SteadyTime now) const {
  if (!enabled()) return false;
  if (!last_step_) return true;
  if (step == *last_step_) return false;
  if (every_steps_) return step >= *last_step_ + uint64_t(*every_steps_);
  return now - last_time_ >= seconds_to_duration(*every_secs_);
}

IntervalTimer::Elapsed IntervalTimer::trigger(uint64_t step, SteadyTime now) {
  Elapsed elapsed;
  if (last_step_ && step >= *last_step_) elapsed = {step - *last_step_, now - last_time_};
  last_step_ = step;
  last_time_ = now;
  return elapsed;
}

bool IntervalTimer::enabled() const { return (every_steps_ && *every_steps_ > 0) || (every_secs_ && *every_secs_ > 0); }

void IntervalTimer::reset() { last_step_.reset(); }

void IntervalTimer::reset_if_behind(uint64_t step) {
  if (last_step_ && step < *last_step_) reset();
}

}  // namespace shoal
