// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Evaluation inside of training, after checkpoints: in local mode, and in the master of a cluster.
#include "evaluate/evaluating.h"
#include "shoal/base/stop.h"
#include "shoal/estimator/hook.h"
#include "task/task_network.h"

namespace shoal {

class LocalEvaluation final : public CheckpointListener {
 public:
  enum class Last {
    kInTraining,  ///< end() makes the last evaluation, before training ends.
    /// evaluate_last() makes the last evaluation, after the job's end, when no other task waits for the master. It does so
    /// if a master that is killed meanwhile would find the end mark when it is started again, or if an interrupt has left
    /// the job 20 s. Otherwise end() makes it: a restarted master would continue training, and need its servers.
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

  /// The first save of the run is never evaluated; the next one always; later ones under the throttle.
  bool after_save(RunContext& context, uint64_t step, const std::string& prefix) override;
  /// The last step is evaluated whatever the throttle says, unless it has been.
  void end(RunContext& context, uint64_t step) override;

  /// For Last::kAfterTheJobsEnd: whether the job ends now, so that what is saved next is the last. On the strand.
  void set_ending(bool ending) { ending_ = ending; }
  /// For Last::kAfterTheJobsEnd: what end() has left to do. On the compute thread.
  Result<void> evaluate_last();

  const Evaluating& evaluating() const { return evaluating_; }

 private:
  Result<void> check_newest();
  void evaluate(uint64_t step, const StopToken& stop);
  void evaluate_end(uint64_t step, const StopToken& stop);
  bool may_wait_for_the_end(uint64_t step) const;
  void tell_of_last_step(uint64_t step);

  Environment& env_;
  const std::string model_dir_;
  std::optional<int64_t> max_steps_;
  Evaluating evaluating_;
  const EvalSpec& spec_;
  const RunConfig& config_;
  const Last last_;
  // A program that cancels a local run wants its thread back: also the evaluation in hand is given up then, and the last one not made.
  const StopToken cancel_;
  const StopSource give_up_;  // Ends evaluations that are not the last.
  const StopCallback on_cancel_;
  std::string newest_prefix_;
  std::optional<uint64_t> first_step_;
  std::optional<SteadyTime> last_started_;
  std::optional<uint64_t> last_step_;
  std::optional<uint64_t> skipped_step_;  // The newest step that the throttle kept from being evaluated.
  int64_t evaluation_count_ = 0;
  bool told_to_end_ = false;  // True once the listener has said so.
  bool ending_ = false;
  std::optional<uint64_t> end_step_;  // The step that is left to evaluate_last().
};

}  // namespace shoal
