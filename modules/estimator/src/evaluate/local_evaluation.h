// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Evaluation within training, after checkpoints: in local mode, and in the master of a cluster.
#include "evaluate/evaluating.h"
#include "shoal/base/stop.h"
#include "shoal/estimator/hook.h"
#include "task/task_network.h"

namespace shoal {

class LocalEvaluation final : public CheckpointListener {
 public:
  enum class Last {
    kInTraining,  ///< LocalEvaluation::end() makes the last evaluation, before training ends.
    /// evaluate_last() makes the last evaluation after the job's end, so that no other task has to wait for it. Used at
    /// max_steps and after an interrupt. At max_steps, a master that is killed during this evaluation finds at its next
    /// start that the job has ended, and only evaluates again. After an interrupt the job has only 20 s to end. In all
    /// other cases end() makes the evaluation, because a restarted master would continue training and need its servers.
    kAfterTheJobsEnd,
  };
  LocalEvaluation(Environment& env, const Estimator& estimator, const EvalSpec& spec, std::optional<int64_t> max_steps,
                  Last last)
      : env_(env),
        model_dir_(estimator.model_dir()),
        max_steps_(max_steps),
        evaluating_(estimator, spec, max_steps),
        spec_(spec),
        config_(estimator.config()),
        last_(last),
        cancel_(last == Last::kInTraining ? stop_of_program(estimator.config()) : StopToken()),
        give_up_(last == Last::kInTraining ? env.leaving() : env.interrupted()),
        on_cancel_(cancel_, [this] { give_up_.request_stop(); }) {}

  /// Evaluates the checkpoint just saved. The run's first checkpoint is never evaluated, the second one always, and later
  /// ones unless the last evaluation began less than EvalSpec::throttle_secs ago.
  bool after_save(RunContext& context, uint64_t step, const std::string& prefix) override;
  /// Evaluates the last step, whatever EvalSpec::throttle_secs is, unless that step has been evaluated.
  void end(RunContext& context, uint64_t step) override;

  /// For Last::kAfterTheJobsEnd: tells this object whether the job ends now, so that the next checkpoint is the last one.
  /// Call it on the strand.
  void set_ending(bool ending) { ending_ = ending; }
  /// For Last::kAfterTheJobsEnd: makes the last evaluation, unless end() has completed it. Call it on the compute thread.
  Result<void> evaluate_last();
  /// For a start that finds nothing left to train: makes the last evaluation, with its exports, if the start that trained
  /// ended before it was complete (it failed or was killed). Call it on the compute thread, while the folder is locked.
  Result<void> make_up_for_last();

  const Evaluating& evaluating() const { return evaluating_; }

 private:
  Result<void> check_newest();
  void evaluate(uint64_t step, const StopToken& stop);
  void evaluate_end(uint64_t step, const StopToken& stop);
  bool may_wait_for_the_end(uint64_t step) const;
  void tell_of_last_step(uint64_t step);
  void note_last_is_due();
  void last_is_done();

  Environment& env_;
  const std::string model_dir_;
  std::optional<int64_t> max_steps_;
  Evaluating evaluating_;
  const EvalSpec& spec_;
  const RunConfig& config_;
  const Last last_;
  // Stops if the program cancels a local run. The current evaluation then ends early, and the last evaluation is left out,
  // because the program waits for the thread of this run.
  const StopToken cancel_;
  const StopSource give_up_;  // Ends the current evaluation, unless it is the last one.
  const StopCallback on_cancel_;
  std::string newest_prefix_;
  std::optional<uint64_t> first_step_;
  std::optional<SteadyTime> last_started_;
  std::optional<uint64_t> last_step_;
  std::optional<uint64_t> skipped_step_;  // The newest step that was not evaluated because of EvalSpec::throttle_secs.
  int64_t evaluation_count_ = 0;
  bool told_to_end_ = false;  // The user's EvalListener ended the evaluations.
  bool ending_ = false;
  std::optional<uint64_t> end_step_;  // The step that evaluate_last() has to evaluate.
};

}  // namespace shoal
