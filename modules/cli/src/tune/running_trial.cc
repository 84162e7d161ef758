// SPDX-License-Identifier: Apache-2.0
#include "tune/running_trial.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "launch/inbox.h"
#include "launch/policy.h"
#include "safe_text.h"
#include "shoal/base/utc_text.h"
#include "tune/trial_command.h"
#include "tune/trial_results.h"

namespace shoal::cli::tune {
namespace {

constexpr int kSignalBase = 128;  // For a program that a signal ended, a shell's status is this plus the signal.

launch::Ending ending_of(int status) {
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0, .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

/// Returns why an attempt has failed. A program that a signal ended could not say so itself.
std::string reason_of(const launch::Ending& ending, const std::string& last_words) {
  const std::string how = "it " + how_it_ended(ending);
  if (last_words.empty()) return how;
  return ending.signal == 0 ? last_words : how + "; last in its log: " + last_words;
}

std::string log_file(const TuneOptions& options, int64_t trial) {
  return join_path(trial_folder(options, trial), "log.txt");
}

/// A report of an earlier attempt must not count for this one.
Result<void> remove_report(Storage& storage, const std::string& file) {
  const Result<void> removed = storage.remove(file);
  return removed || removed.error().kind() == ErrorKind::kNotFound ? Result<void>() : removed;
}

}  // namespace

std::string running_file(const TuneOptions& options, int64_t trial) {
  return join_path(trial_folder(options, trial), ".running");
}

Result<std::optional<RunningTrial>> RunningTrial::start(Storage& storage, const TuneOptions& options,
                                                        const std::string& file, const tuning::Trial& trial) {
  SHOAL_TRY_VOID(storage.make_folders(trial_folder(options, trial.number)));
  SHOAL_TRY(const std::optional<RunningLock> lock, RunningLock::take(running_file(options, trial.number)));
  if (!lock) return std::optional<RunningTrial>();
  SHOAL_TRY_VOID(remove_report(storage, report_file(options, trial.number)));
  SHOAL_TRY(const launch::Descriptor log, open_log(log_file(options, trial.number)));
  const launch::Program program{.file = file,
                                .command = trial_words(options, trial),
                                .environment = launch::environment_with(trial_variables(storage, options, trial.number)),
                                .log = log.number(),
                                .kept = lock->number()};
  const auto earlier = storage.open(log_file(options, trial.number));
  const uint64_t log_begin = earlier ? (*earlier)->size() : 0;
  SHOAL_TRY(launch::ChildGroup group, launch::ChildGroup::start(program));
  lock->say(group.id());
  return std::optional<RunningTrial>(RunningTrial(storage, options, trial.number, std::move(group), log_begin));
}

RunningTrial::RunningTrial(Storage& storage, const TuneOptions& options, int64_t number, launch::ChildGroup group,
                           uint64_t log_begin)
    : storage_(&storage),
      options_(&options),
      number_(number),
      group_(std::move(group)),
      log_begin_(log_begin),
      watch_(
          std::make_unique<TrialWatch>(storage, join_path(trial_folder(options, number), "eval"), options.header.metric)),
      begun_(launch::steady_now()) {}

bool RunningTrial::is_gone() {
  if (group_.program_status() && !group_.is_gone()) {
    group_.send(SIGKILL);
    group_.look();
  }
  return group_.program_status() && group_.is_gone();
}

std::vector<Evaluation> RunningTrial::new_evaluations() {
  std::vector<Evaluation> evaluations = watch_->take();
  if (!evaluations.empty()) last_ = evaluations.back();
  // The first call also returns evaluations of earlier attempts. Evaluations that a later call returns are of this attempt.
  if (std::exchange(has_looked_, true) && !evaluations.empty()) has_evaluated_ = true;
  return evaluations;
}

uint64_t RunningTrial::settled_bytes() {
  bytes_ = std::max(bytes_, group_.resident_bytes().value_or(0));
  return has_evaluated_ || has_ended() ? bytes_ : 0;
}

Result<tuning::AttemptEnd> RunningTrial::attempt_end() {
  const launch::Ending ending = ending_of(*group_.program_status());
  tuning::AttemptEnd end{.status = ending.signal != 0 ? kSignalBase + ending.signal : ending.status,
                         .seconds = to_seconds(launch::steady_now() - begun_)};
  new_evaluations();
  if (watch_->missed()) return *watch_->missed();
  SHOAL_TRY(const auto report, read_report(*storage_, report_file(*options_, number_), options_->header.metric));
  if (report) end.interrupted = report->interrupted;
  if (report && report->value) {
    end.value = report->value;
    end.step = report->step;
  } else if (last_) {
    end.value = last_->value;
    end.step = last_->step;
  }
  if (end.status != 0) {
    end.error = reason_of(ending, last_words(*storage_, log_file(*options_, number_), log_begin_));
  } else if (!end.value && !end.interrupted) {
    const std::string there =
        report && !report->metrics.empty() ? "it has reported " + report->metrics : "it has reported nothing";
    end.error = "there is no metric " + options_->header.metric + " (--metric); " + there;
  }
  end.error =
      clean_text(end.error);  // It may have words of the program, and goes to the journal, trials.csv and terminals.
  return end;
}

}  // namespace shoal::cli::tune
