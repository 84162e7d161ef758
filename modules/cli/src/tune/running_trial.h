// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trial with its process, from the start of the process to its end.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/time.h"
#include "tune/trial_process.h"
#include "tune/trial_watch.h"
#include "tune/tune_options.h"

namespace shoal::cli::tune {

/// Returns the path of a trial's RunningLock.
std::string running_file(const TuneOptions& options, int64_t trial);

class RunningTrial {
 public:
  /// Starts the program `file` for this trial. Returns nothing if a process of an earlier attempt still runs.
  /// Errors: those of ChildGroup::start(), and any failure to make or remove files in the trial's folder.
  static Result<std::optional<RunningTrial>> start(Storage& storage, const TuneOptions& options, const std::string& file,
                                                   const tuning::Trial& trial);

  int64_t number() const { return number_; }
  launch::ChildGroup& group() { return group_; }
  void send(int signal) const { group_.send(signal); }

  /// True once the program itself has ended; processes that it started may still run.
  bool has_ended() const { return group_.program_status().has_value(); }
  /// True once no process of the trial is left. Kills processes that the ended program has left behind.
  bool is_gone();
  std::vector<Evaluation> new_evaluations();
  /// Returns the most memory that the trial was seen to use; 0 until its first evaluation or its end.
  uint64_t settled_bytes();
  /// Returns how the attempt ended. Call it once is_gone() is true. Unavailable if its results cannot be read now.
  Result<tuning::AttemptEnd> attempt_end();

 private:
  RunningTrial(Storage& storage, const TuneOptions& options, int64_t number, launch::ChildGroup group, uint64_t log_begin);

  Storage* storage_;
  const TuneOptions* options_;
  int64_t number_;
  launch::ChildGroup group_;
  uint64_t log_begin_;  // The size of the log when this attempt began: before it stands what earlier attempts wrote.
  std::unique_ptr<TrialWatch> watch_;
  SteadyTime begun_;
  std::optional<Evaluation> last_{};
  bool has_looked_ = false, has_evaluated_ = false;
  uint64_t bytes_ = 0;
};

}  // namespace shoal::cli::tune
