// SPDX-License-Identifier: Apache-2.0
#include "task/end_of_job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "task/task_network.h"

namespace shoal {
namespace {

// A task waits for a chief to remove the end mark that an earlier run has left in model_dir. If none does, the task takes
// the mark as valid this long before ready_timeout_secs are over, and so ends without an error.
constexpr auto kBeforeGivingUp = std::chrono::seconds(2);

/// "98 s"
std::string whole_seconds(Duration time) { return std::to_string(std::llround(to_seconds(time))) + " s"; }

}  // namespace

EndOfJob::EndOfJob(Environment& env, RunConfig config, std::string model_dir, std::optional<int64_t> max_steps,
                   NewMarks new_marks)
    : env_(env),
      config_(std::move(config)),
      model_dir_(std::move(model_dir)),
      max_steps_(max_steps),
      new_marks_(new_marks),
      started_(env.now()) {}

Result<std::optional<checkpoint::EndMark>> EndOfJob::look() {
  SHOAL_TRY(std::optional<checkpoint::EndMark> mark, checkpoint::read_end_mark(env_.storage(), model_dir_));
  if (!looked_) at_start_ = mark;
  looked_ = true;
  if (mark && !obeys(*mark)) mark.reset();
  return mark;
}

bool EndOfJob::obeys(const checkpoint::EndMark& mark) {
  if (max_steps_ && mark.global_step >= *max_steps_) return true;
  const std::string& own = host_of(config_).shoal_run;
  if (!own.empty() && mark.shoal_run == own) return true;
  // An end mark with the SHOAL_RUN of another job is old, even if this task did not see it at its start: a slow file system
  // may show a file late.
  const bool others = !own.empty() && !mark.shoal_run.empty();
  if (new_marks_ == NewMarks::kObeyed && mark != at_start_ && !others) return true;
  const Duration timeout = seconds_to_duration(config_.ready_timeout_secs());
  const Duration patience = timeout - std::min<Duration>(kBeforeGivingUp, timeout / 2);
  const std::string left = model_dir_ + " was left by a run that ended at global step " + std::to_string(mark.global_step);
  const SteadyTime now = env_.now();
  if (now >= started_ + patience) {
    if (!std::exchange(gave_up_, true)) {
      env_.log().info("no chief has come within " + whole_seconds(patience) + ": this task ends, since " + left + " (" +
                      std::string(checkpoint::to_string(mark.reason)) + ")");
    }
    return true;
  }
  env_.log().warning_once("old mark", "waiting for the chief: " + left + "; without a chief this task ends in " +
                                          whole_seconds(started_ + patience - now));
  return false;
}

}  // namespace shoal
