// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells a task whether its job has ended, by the end mark in model_dir.
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

class EndOfJob {
 public:
  /// What a task does when an end mark (the file that says that a job has ended) was written after the task's start, but
  /// does not say which job has ended.
  enum class NewMarks {
    kObeyed,  ///< For all tasks but servers: a new end mark can only come from this job's chief.
    /// For parameter servers. They wait before they obey a new end mark, because a chief that is killed after writing the
    /// mark may be started again and train.
    kDoubted,
  };

  /// `config` and `max_steps` are those of the task. ready_timeout_secs counts from this call.
  EndOfJob(Environment& env, RunConfig config, std::string model_dir, std::optional<int64_t> max_steps, NewMarks new_marks);

  /// Reads the end mark, the file in model_dir that says that the job has ended. Returns nothing if there is no mark, or if
  /// the mark is of an earlier run: this task then logs once that it waits for a chief, which removes the old mark, and for
  /// how long. If no chief comes, look() logs that, and returns the old mark two seconds before ready_timeout_secs are over,
  /// so that the task ends without a time-out error. A mark that exists at the first call counts as one of an earlier run,
  /// unless it names this job (SHOAL_RUN) or max_steps were reached. Errors: those of read_end_mark(). Called on the
  /// compute thread.
  Result<std::optional<checkpoint::EndMark>> look();

 private:
  bool obeys(const checkpoint::EndMark& mark);

  Environment& env_;
  const RunConfig config_;
  const std::string model_dir_;
  const std::optional<int64_t> max_steps_;
  const NewMarks new_marks_;
  const SteadyTime started_;
  bool looked_ = false;
  bool gave_up_ = false;  // True once the log says that no chief has come.
  std::optional<checkpoint::EndMark> at_start_;
};

}  // namespace shoal
