// SPDX-License-Identifier: Apache-2.0
#include "evaluate/evaluator_task.h"

#include <algorithm>

#include "evaluate/evaluation_notes.h"
#include "model/rules.h"
#include "shoal/base/compute.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/run_file.h"
#include "task/end_of_job.h"

namespace shoal {
namespace {

constexpr auto kNoteEvery = std::chrono::seconds(600);
// The pause between checks for the end mark, and the least pause between searches for a checkpoint.
constexpr auto kPollEvery = std::chrono::milliseconds(100);
constexpr auto kAfterTheEnd = std::chrono::seconds(1);  // The pause between searches after the job's end.
constexpr int kDamagedMax = 3;
constexpr int kLooksAfterTheEndMax = 10;

/// Limits a log line to once per 600 s.
class RareNote {
 public:
  bool due(SteadyTime now) {
    if (next_ && now < *next_) return false;
    next_ = now + kNoteEvery;
    return true;
  }
  void reset() { next_.reset(); }

 private:
  std::optional<SteadyTime> next_;
};

class EvaluatorTask {
 public:
  EvaluatorTask(Environment& env, const EvaluatorOptions& options)
      : env_(env),
        options_(options),
        evaluating_(options.estimator, options.spec, options.max_steps),
        end_of_job_(env, options.estimator.config(), options.estimator.model_dir(), options.max_steps,
                    EndOfJob::NewMarks::kObeyed) {}
  Task<Result<std::optional<Metrics>>> run();

 private:
  Result<void> look();
  Result<void> look_at_run();
  Result<EvalStatus> look_for_checkpoint();
  Result<std::optional<std::string>> newest_checkpoint();
  Result<EvalStatus> evaluate(const std::string& prefix);
  Result<EvalStatus> count_damage(const std::string& damaged, const Error& error);
  bool may_be_of_before(const std::string& prefix, const Error& error);
  Result<bool> read_mark();
  void warn_of_polling();
  Result<void> check_lost_end();
  void tell_of_end();
  bool finished() const;
  Task<Result<void>> wait_until(SteadyTime when);

  Environment& env_;
  const EvaluatorOptions& options_;
  Evaluating evaluating_;
  EndOfJob end_of_job_;
  std::optional<checkpoint::EndMark> mark_;
  RareNote missing_note_, not_new_note_, poll_note_, lost_note_;
  int looks_after_end_ = 0;
  // The five flags below are for the last lines of the log, which say, for example, why only the last step was evaluated.
  bool ended_in_delay_ = false;     // The job had ended when the evaluator began to search.
  bool ended_in_throttle_ = false;  // The job ended while the evaluator waited for its next search.
  bool found_not_new_ = false;      // A search found the same checkpoint as the one before.
  bool saw_training_ = false;       // A step was evaluated that is neither the first nor the last.
  bool told_to_end_ = false;        // The user's EvalListener ended the evaluations.
  std::string run_;                 // The id of the run in model_dir; empty: not known yet.
  /// The first checkpoint found whose weights were trained with other versions of the user's ops than this program has, and
  /// the time when it was saved.
  std::optional<std::pair<std::string, WallTime>> of_before_;
  std::string damaged_;  // The newest damaged checkpoint that was found.
  int damaged_count_ = 0;
};

Task<Result<std::optional<Metrics>>> EvaluatorTask::run() {
  SHOAL_CO_TRY_VOID(co_await wait_until(env_.after(seconds_to_duration(double(options_.spec.start_delay_secs)))));
  ended_in_delay_ = mark_.has_value();
  while (!env_.interrupted().stop_requested()) {
    const SteadyTime started = env_.now();
    SHOAL_CO_TRY_VOID(co_await compute(env_, &EvaluatorTask::look, this));
    if (told_to_end_ || finished()) break;
    SHOAL_CO_TRY_VOID(check_lost_end());
    const SteadyTime next =
        mark_ ? env_.after(kAfterTheEnd) : std::max(throttled_until(options_.spec, started), env_.after(kPollEvery));
    const bool ended_before = mark_.has_value();
    SHOAL_CO_TRY_VOID(co_await wait_until(next));
    ended_in_throttle_ = mark_ && !ended_before;
  }
  const bool ended = told_to_end_ || finished();
  if (!ended && env_.leaving().stop_requested()) co_return cancelled();
  tell_of_end();
  evaluating_.warn_about_final_exporters(env_.log());
  co_return evaluating_.metrics();
}

void EvaluatorTask::tell_of_end() {
  if (told_to_end_) return;
  if (env_.interrupted().stop_requested()) {
    if (!evaluating_.last_prefix()) env_.log().warning("evaluation: interrupted before anything was evaluated");
    return;
  }
  if (!evaluating_.last_prefix()) {
    const bool disabled = mark_ && mark_->checkpoint.empty();
    return env_.log().warning(
        std::string("evaluation: the job ended and nothing was ever evaluated") +
        (disabled
             ? ", since it wrote no checkpoints; RunConfig::save_checkpoints_steps or save_checkpoints_secs enables them"
             : ""));
  }
  if (saw_training_ || evaluating_.metrics()->at("global_step") == 0) return;
  if (!ended_in_delay_ && !found_not_new_ && !ended_in_throttle_) return;
  const OnlyLastStep why = ended_in_delay_  ? OnlyLastStep::kStartDelay
                           : found_not_new_ ? OnlyLastStep::kNoCheckpoint
                                            : OnlyLastStep::kThrottle;
  env_.log().info(note_on_last_step(why, options_.spec, options_.estimator.config()));
}

/// After the job's end the evaluator searches for the job's last checkpoint. Returns an error once kLooksAfterTheEndMax
/// searches have not found it.
Result<void> EvaluatorTask::check_lost_end() {
  if (!mark_ || ++looks_after_end_ < kLooksAfterTheEndMax) return {};
  return data_loss("evaluation: the job ended with checkpoint " +
                   join_path(options_.estimator.model_dir(), mark_->checkpoint) +
                   ", which is not the newest one that can be found there; was the folder changed by hand?");
}

Result<void> EvaluatorTask::look() {
  SHOAL_TRY_VOID(look_at_run());
  SHOAL_TRY(bool go_on, evaluating_.may_look(env_.log()));
  if (go_on) {
    SHOAL_TRY(const EvalStatus status, look_for_checkpoint());
    SHOAL_TRY(go_on, evaluating_.may_go_on(env_.log(), status));
  }
  told_to_end_ = !go_on;
  return {};
}

/// Keeps the results of two runs apart: ends the evaluator with FailedPrecondition if model_dir now belongs to another run.
/// An error of the check itself is ignored, since the next check comes soon.
Result<void> EvaluatorTask::look_at_run() {
  const auto run = checkpoint::read_run(env_.storage(), options_.estimator.model_dir());
  if (!run) return {};
  const std::string id = *run ? (*run)->id : std::string();
  // Remembers the run's id only once a checkpoint was evaluated. Until then, a restarted chief may find an empty folder and
  // begin another run.
  if (run_.empty() && evaluating_.last_prefix()) run_ = id;
  if (run_.empty() || id == run_) return {};
  return failed_precondition("evaluation: model_dir " + options_.estimator.model_dir() + " was that of run " + run_ +
                             ", and " + (id.empty() ? "has no run.json any more" : "is that of run " + id) +
                             ": the folder was removed, moved or replaced while the evaluator was at work; start it again");
}

/// The prefix of the newest checkpoint; nothing if there is none yet.
Result<std::optional<std::string>> EvaluatorTask::newest_checkpoint() {
  const auto warn = [this](const std::string& sentence) { env_.log().warning_once(sentence, sentence); };
  return checkpoint::newest(env_.storage(), options_.estimator.model_dir(), warn);
}

Result<EvalStatus> EvaluatorTask::look_for_checkpoint() {
  SHOAL_TRY_VOID(read_mark());
  Result<std::optional<std::string>> newest = newest_checkpoint();
  if (!newest && newest.error().kind() == ErrorKind::kDataLoss) {
    const std::string which = newest.error().message();
    return count_damage(which, newest.error());
  }
  if (!newest) {
    if (lost_note_.due(env_.now())) env_.log().error("checkpoint: " + newest.error().message());
    newest = std::optional<std::string>();
  }
  if (!*newest) {
    if (missing_note_.due(env_.now())) {
      env_.log().info("evaluation: missing, there is no checkpoint in " + options_.estimator.model_dir() + " yet");
    }
    warn_of_polling();
    return EvalStatus::kMissing;
  }
  if (**newest == evaluating_.last_prefix()) {
    found_not_new_ = true;
    if (not_new_note_.due(env_.now())) env_.log().info("evaluation: not new, " + **newest + " is evaluated already");
    warn_of_polling();
    return EvalStatus::kNotNew;
  }
  return evaluate(**newest);
}

/// With throttle_secs = 0 and no new checkpoint, warns that the evaluator polls: once, and then at most every 600 s.
void EvaluatorTask::warn_of_polling() {
  if (options_.spec.throttle_secs != 0 || !poll_note_.due(env_.now())) return;
  env_.log().warning("evaluation: throttle_secs is 0, so the evaluator polls for new checkpoints");
}

/// Evaluates a checkpoint. First reads all of it, because the evaluation alone would not notice damage in parts that it
/// does not need. If files are missing, the checkpoint was deleted as an old one meanwhile, or its files appear late in a
/// shared folder.
Result<EvalStatus> EvaluatorTask::evaluate(const std::string& prefix) {
  const Result<void> intact = checkpoint::verify(env_.storage(), prefix);
  // If this task is to end and be started again, env_.leaving() ends the evaluation early. The next process of the task
  // repeats it.
  const Result<void> evaluated = intact ? evaluating_.evaluate(env_, prefix, env_.leaving()) : intact;
  if (evaluated) {
    missing_note_.reset();
    not_new_note_.reset();
    const bool last = mark_ || evaluating_.last_was_final();
    saw_training_ = saw_training_ || (!last && evaluating_.metrics()->at("global_step") > 0);
    return EvalStatus::kEvaluated;
  }
  const Error& error = evaluated.error();
  if (may_be_of_before(prefix, error)) return EvalStatus::kMissing;
  // The error may be about another file, such as one of the evaluation's input, so this checks the checkpoint itself.
  const bool gone = !intact || (!evaluating_.evaluated() && !checkpoint::Reader::open(env_.storage(), prefix));
  if (error.kind() == ErrorKind::kNotFound && gone) {
    env_.log().info("evaluation: checkpoint " + prefix + " was deleted meanwhile, or is not all there yet; looking again");
    return EvalStatus::kMissing;
  }
  if (error.kind() == ErrorKind::kDataLoss && !error.cause()) return count_damage(prefix, error);
  return error;
}

/// True if the checkpoint may have been saved before a restart of the job, by a program with another version of a user's
/// op. Until the restarted chief saves its first checkpoint, the newest checkpoint has the old version of the op. So the
/// evaluator does not fail at the first checkpoint with another version but waits, unless the job has ended.
bool EvaluatorTask::may_be_of_before(const std::string& prefix, const Error& error) {
  const auto& ops = options_.estimator.ops();
  if (error.kind() != ErrorKind::kFailedPrecondition || error.cause() || mark_ || !ops) return false;
  const auto reader = checkpoint::Reader::open(env_.storage(), prefix);
  if (!reader) return false;
  const checkpoint::SaveInfo& saved = (*reader)->manifest().info;
  if (op_version_difference(saved.rules, *ops).empty()) return false;
  const std::pair seen(prefix, saved.save_time);
  if (of_before_ && *of_before_ != seen) return false;
  if (!of_before_) {
    env_.sometimes("evaluator.op_version_of_before");
    env_.log().warning("evaluation: " + error.message() + "; waiting for the next checkpoint");
  }
  of_before_ = seen;
  return true;
}

/// Counts how often this damaged checkpoint was found. At first a process may still be writing it, so the evaluator
/// searches again. If the evaluator finds it a third time, returns the error.
Result<EvalStatus> EvaluatorTask::count_damage(const std::string& damaged, const Error& error) {
  damaged_count_ = damaged == damaged_ ? damaged_count_ + 1 : 1;
  damaged_ = damaged;
  env_.sometimes("evaluator.damaged_checkpoint");
  env_.log().error("evaluation: " + error.message());
  if (damaged_count_ >= kDamagedMax) return error;
  return EvalStatus::kMissing;
}

Result<bool> EvaluatorTask::read_mark() {
  SHOAL_TRY(mark_, end_of_job_.look());
  return mark_.has_value();
}

bool EvaluatorTask::finished() const {
  if (evaluating_.last_was_final()) return true;
  if (!mark_) return false;
  const std::string last = join_path(options_.estimator.model_dir(), mark_->checkpoint);
  return mark_->checkpoint.empty() || evaluating_.last_prefix() == last;
}

/// Waits until `when`, or until an end mark appears or an interrupt comes.
Task<Result<void>> EvaluatorTask::wait_until(SteadyTime when) {
  const bool marked_before = mark_.has_value();
  while (env_.now() < when && !env_.interrupted().stop_requested()) {
    SHOAL_CO_TRY(const bool ended, co_await compute(env_, &EvaluatorTask::read_mark, this));
    if (ended && !marked_before) break;
    Result<void> slept = co_await env_.sleep_until(std::min(when, env_.after(kPollEvery)), env_.interrupted());
    if (!slept && slept.error().kind() != ErrorKind::kCancelled) co_return slept;
  }
  co_return Result<void>{};
}

}  // namespace

Task<Result<std::optional<Metrics>>> evaluator_task(Environment& env, const EvaluatorOptions& options) {
  EvaluatorTask task(env, options);
  co_return co_await task.run();
}

}  // namespace shoal
