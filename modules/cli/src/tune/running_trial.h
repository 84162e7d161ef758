// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trial with its process, from its start to its end.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/time.h"
#include "tune/trial_process.h"
#include "tune/trial_watch.h"
#include "tune/tune_options.h"

namespace shoal::cli::tune {

/// The file of a trial's RunningLock.
std::string running_file(const TuneOptions& options, int64_t trial);

class RunningTrial {
 public:
  /// Starts the program `file` for this trial. Nothing: an old process of the trial still runs. The errors of ChildGroup::start(), and
  /// those of files in the trial's folder.
  static Result<std::optional<RunningTrial>> start(Storage& storage, const TuneOptions& options, const std::string& file,
                                                   const tuning::Trial& trial);

  int64_t number() const { return number_; }
  launch::ChildGroup& group() { return group_; }
  void send(int signal) const { group_.send(signal); }

  /// The program itself has ended.
  bool has_ended() const { return group_.program_status().has_value(); }
  /// No process of it is left. What the program has left behind is killed.
  bool is_gone();
  std::vector<Evaluation> new_evaluations();
  /// The most memory that was seen; 0 until it has evaluated.
  uint64_t settled_bytes();
  /// Once it is gone.
  tuning::AttemptEnd attempt_end();

 private:
  RunningTrial(Storage& storage, const TuneOptions& options, int64_t number, launch::ChildGroup group);

  Storage* storage_;
  const TuneOptions* options_;
  int64_t number_;
  launch::ChildGroup group_;
  std::unique_ptr<TrialWatch> watch_;
  SteadyTime begun_;
  std::optional<Evaluation> last_{};
  uint64_t bytes_ = 0;
};

}  // namespace shoal::cli::tune
