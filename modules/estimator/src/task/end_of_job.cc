// SPDX-License-Identifier: Apache-2.0
#include "task/end_of_job.h"

#include <algorithm>

#include "task/task_network.h"

namespace shoal {
namespace {

// A task waits for a chief to remove the end mark that an earlier run has left in model_dir. If none does, the task takes
// the mark as valid this long before ready_timeout_secs are over, and so ends without an error.
constexpr auto kBeforeGivingUp = std::chrono::seconds(2);

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
  const Duration patience = seconds_to_duration(config_.ready_timeout_secs());
  if (env_.now() - started_ >= patience - std::min<Duration>(kBeforeGivingUp, patience / 2)) return true;
  env_.log().warning_once("old mark", "waiting for the chief: " + model_dir_ +
                                          " was left by a run that ended at global step " +
                                          std::to_string(mark.global_step) + "; without a chief this task ends in " +
                                          std::to_string(int64_t(to_seconds(patience))) + " s");
  return false;
}

}  // namespace shoal
