#pragma once
/// Evaluation in local mode: inside training, after checkpoints (CONTRACT 6).
#include "evaluating.h"
#include "shoal/estimator/hook.h"

namespace shoal {

class LocalEvaluation final : public CheckpointListener {
 public:
  LocalEvaluation(Environment& env, const Estimator& estimator, const EvalSpec& spec, std::optional<int64_t> max_steps)
      : env_(env),
        model_dir_(estimator.model_dir()),
        max_steps_(max_steps),
        evaluating_(estimator, spec, max_steps),
        spec_(spec),
        config_(estimator.config()),
        throttle_(std::chrono::seconds(spec.throttle_secs)) {}

  /// The first save of the run is never evaluated; the next one always; later ones under the throttle.
  bool after_save(RunContext& context, uint64_t step, const std::string& prefix) override;
  /// The last step is evaluated whatever the throttle says, unless it has been.
  void end(RunContext& context, uint64_t step) override;

  const Evaluating& evaluating() const { return evaluating_; }

 private:
  Result<void> check_newest();
  void evaluate(uint64_t step);
  void tell_of_last_step(uint64_t step);

  Environment& env_;
  const std::string model_dir_;
  std::optional<int64_t> max_steps_;
  Evaluating evaluating_;
  const EvalSpec& spec_;
  const RunConfig& config_;
  Duration throttle_;
  std::string newest_prefix_;
  std::optional<uint64_t> first_step_;
  std::optional<SteadyTime> last_started_;
  std::optional<uint64_t> last_step_;
  std::optional<uint64_t> skipped_step_;  // The newest step that the throttle kept from being evaluated.
  int64_t evaluation_count_ = 0;
  bool told_to_end_ = false;              // True once the listener has said so.
};

}  // namespace shoal
