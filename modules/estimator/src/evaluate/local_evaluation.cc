// SPDX-License-Identifier: Apache-2.0
#include "evaluate/local_evaluation.h"

#include "evaluate/evaluation_notes.h"
#include "shoal/base/synced_file.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal {
namespace {

/// An empty file in model_dir. It is there from a run's first checkpoint until the last evaluation is complete.
constexpr const char* kEvaluationDue = "evaluation_due";

}  // namespace

bool LocalEvaluation::after_save(RunContext& context, uint64_t step, const std::string& prefix) {
  // The checkpoint is in the spare folder because model_dir cannot be written. Results could not be written there either.
  if (prefix != join_path(model_dir_, prefix.substr(prefix.rfind('/') + 1))) {
    env_.log().info("evaluation of " + prefix + " is left out: it is in the spare folder");
    return false;
  }
  newest_prefix_ = prefix;
  if (!first_step_) {
    first_step_ = step;
    note_last_is_due();
    return false;
  }
  if (env_.leaving().stop_requested()) return false;  // This task is being restarted, and evaluates later.
  if (ending_) return false;                          // The job ends now: evaluate_last() evaluates this checkpoint.
  told_to_end_ = !value_or_raise(evaluating_.may_look(env_.log()));
  if (told_to_end_) return true;
  if (last_started_ && env_.now() < throttled_until(spec_, *last_started_)) {
    const bool last = context.stop_requested() || (max_steps_ && step >= uint64_t(*max_steps_));
    if (last) return false;  // The last step: end() evaluates it.
    env_.log().info("evaluation of " + prefix + " skipped by the throttle: the last one started less than " +
                    std::to_string(spec_.throttle_secs) + " s ago (EvalSpec::throttle_secs)");
    skipped_step_ = step;
    return false;
  }
  const int64_t before = evaluation_count_;
  evaluate(step, give_up_.token());
  if (evaluation_count_ > before) context.note_evaluation();
  return told_to_end_;
}

void LocalEvaluation::end(RunContext&, uint64_t step) {
  if (cancel_.stop_requested()) {
    if (last_step_ != step) env_.log().info("the last evaluation is left out: the program has cancelled its call");
    return;
  }
  end_step_ = step;
  if (last_ == Last::kInTraining) return evaluate_end(step, cancel_);
  if (!may_wait_for_the_end(step)) evaluate_end(step, env_.interrupted());
}

/// Returns whether the last evaluation may wait until the job has ended (evaluate_last()). It may if training has reached
/// max_steps, since a task that is started again then has nothing left to train; and it may after an interrupt.
bool LocalEvaluation::may_wait_for_the_end(uint64_t step) const {
  return (max_steps_ && step >= uint64_t(*max_steps_)) || env_.interrupted().stop_requested();
}

Result<void> LocalEvaluation::evaluate_last() {
  if (!end_step_) return {};
  return call_user("the last evaluation", [this] { evaluate_end(*end_step_, {}); });
}

/// Logs why only the last step was evaluated. Logs nothing if other steps were evaluated, too, or if nothing was trained.
void LocalEvaluation::tell_of_last_step(uint64_t step) {
  if (evaluation_count_ > 1 || first_step_ == step) return;
  env_.log().info(note_on_last_step(OnlyLastStep::kNoCheckpoint, spec_, config_));
}

void LocalEvaluation::evaluate_end(uint64_t step, const StopToken& stop) {
  if (told_to_end_) return last_is_done();
  if (last_step_ != step) {
    if (!value_or_raise(evaluating_.may_look(env_.log()))) return last_is_done();
    if (skipped_step_ == step)
      env_.log().info("evaluation of " + newest_prefix_ + " after all: training has ended with it");
    evaluate(step, stop);
    if (last_step_ != step) return;  // `stop` has ended the evaluation early; evaluate_last() repeats it.
  }
  if (first_step_) tell_of_last_step(step);
  last_is_done();
}

Result<void> LocalEvaluation::make_up_for_last() {
  if (!env_.storage().exists(join_path(model_dir_, kEvaluationDue))) return {};
  SHOAL_TRY(const std::optional<std::string> newest, checkpoint::latest(env_.storage(), model_dir_));
  if (!newest) return {};
  const std::optional<int64_t> step = checkpoint::step_of(std::string_view(*newest).substr(newest->rfind('/') + 1));
  if (!step) return {};
  env_.log().info("the last evaluation is missing: the process that trained ended before it was complete; it is made now");
  env_.sometimes("local.last_evaluation_made_up_for");
  newest_prefix_ = *newest;
  return call_user("the last evaluation", [&] { evaluate_end(uint64_t(*step), cancel_); });
}

/// Makes the file kEvaluationDue. An error is only a warning: training goes on, but after a failure the next start would not
/// make the last evaluation.
void LocalEvaluation::note_last_is_due() {
  const Result<void> made = write_synced(env_.storage(), join_path(model_dir_, kEvaluationDue), "");
  if (!made) env_.log().warning(made.error().message());
}

void LocalEvaluation::last_is_done() {
  end_step_.reset();
  const std::string due = join_path(model_dir_, kEvaluationDue);
  if (!env_.storage().exists(due)) return;
  const Result<void> removed = env_.storage().remove(due);
  if (!removed) env_.log().warning(removed.error().message());
}

/// Checks that the checkpoint to evaluate is still the newest one in the folder. An evaluation must use the checkpoint that
/// this task has just written, even if other processes write there.
Result<void> LocalEvaluation::check_newest() {
  const auto newest = checkpoint::latest(env_.storage(), model_dir_);
  if (newest && *newest == newest_prefix_) return {};
  if (!newest && newest.error().kind() == ErrorKind::kUnavailable) return newest.error();
  const bool damaged = !newest && newest.error().kind() == ErrorKind::kDataLoss;
  const std::string found = !newest ? newest.error().message() : *newest ? "now it is " + **newest : "now there is none";
  return Error(damaged ? ErrorKind::kDataLoss : ErrorKind::kFailedPrecondition,
               "evaluation: " + newest_prefix_ + " was just written as the newest checkpoint, but " + found +
                   "; does another process write or delete in " + model_dir_ + "?");
}

void LocalEvaluation::evaluate(uint64_t step, const StopToken& stop) {
  if (last_step_ == step) return;  // Evaluated before; a recovery saves this step again.
  value_or_raise(check_newest());
  last_started_ = env_.now();
  const Result<void> evaluated = evaluating_.evaluate(env_, newest_prefix_, stop);
  if (!evaluated && stop.stop_requested() && evaluated.error().kind() == ErrorKind::kCancelled) {
    env_.sometimes("master.evaluation_given_up");
    env_.log().info("evaluation of " + newest_prefix_ + " given up: " +
                    (cancel_.stop_requested()          ? "the program has cancelled its call"
                     : env_.leaving().stop_requested() ? "this task gives way"
                                                       : "an interrupt ends the job first"));
    return;
  }
  value_or_raise(evaluated);
  last_step_ = step;
  ++evaluation_count_;
  told_to_end_ = !value_or_raise(evaluating_.may_go_on(env_.log(), EvalStatus::kEvaluated));
}

}  // namespace shoal
