// SPDX-License-Identifier: Apache-2.0
#include "train/input_watch.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/data/input_statistics.h"

namespace shoal {
namespace {

constexpr double kToldShare = 0.1;  // A smaller share of time spent waiting for input is not reported.
constexpr double kWarnedShare = 0.2;

std::string percent(double share) { return formatted("%.0f %%", share * 100); }

}  // namespace

Result<void> InputWatch::stepped(uint64_t global_step, const data::Iterator& input, bool ends) {
  const SteadyTime now = env_.now();
  if (!begin_) {
    begin_ = now;
    waited_ = Duration::zero();
    return {};
  }
  const Duration time = now - *begin_;
  if (time < (ends ? options_.window / 5 : options_.window)) return {};
  SHOAL_TRY_VOID(look(global_step, input, time));
  begin_ = now;
  waited_ = Duration::zero();
  return {};
}

Result<void> InputWatch::look(uint64_t global_step, const data::Iterator& input, Duration time) {
  const double share = std::min(1.0, to_seconds(waited_) / to_seconds(time));
  share_ = share;
  if (options_.progress) options_.progress->set_input_note(share < kToldShare ? "" : "waits for input " + percent(share));
  const bool tells = share >= kToldShare;
  // Records each high share of time that went by waiting for input, and then the first low one, which shows that training
  // no longer waits.
  if (options_.events && (tells || told_)) {
    SHOAL_TRY_VOID(options_.events->add_scalar(int64_t(global_step), "input_wait", share));
  }
  told_ = tells;
  if (share >= kWarnedShare && !warned_) warn(share, input, time);
  return {};
}

void InputWatch::warn(double share, const data::Iterator& input, Duration time) {
  warned_ = true;
  const data::SlowestStage slowest = data::slowest_stage(input.statistics(), options_.cores);
  std::string sentence = "the input holds up the training: " + percent(share) + " of the last " +
                         formatted("%.0f s", to_seconds(time)) + " went by waiting for batches";
  if (!slowest.name.empty()) {
    sentence +=
        "; most of the input's time is that of " + slowest.name + " (" + percent(slowest.share) + "): " + slowest.advice;
  }
  env_.log().warning(sentence);
}

}  // namespace shoal
