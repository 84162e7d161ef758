// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/in_memory_evaluator.h"

#include <cstring>

#include "evaluate/evaluation.h"
#include "model/check_meaning.h"
#include "model/rules.h"

namespace shoal {
namespace {

class InMemoryEvaluator final : public Hook {
 public:
  InMemoryEvaluator(Estimator estimator, InputFn input_fn, EvaluateOptions options, uint64_t every)
      : estimator_(std::move(estimator)), input_fn_(std::move(input_fn)), options_(std::move(options)), every_(every) {}

  void begin(HookSetup& setup) override {
    meaning_ = setup.graph().meaning().encode();
    op_versions_ = encode_rules(op_versions_of(setup.graph()));
  }
  void after_ready(RunContext& run) override { evaluate(run); }
  void after_step(RunContext& run, const StepValues&) override {
    if (run.iterations() % every_ == 0) evaluate(run);
  }
  void end(RunContext& run) override {
    if (run.iterations() != evaluated_) evaluate(run);
  }

 private:
  void evaluate(RunContext& run) {
    evaluated_ = run.iterations();
    const auto copy = [&run](const Variable& variable, std::span<std::byte> place) {
      return copy_live(run, variable, place);
    };
    const auto load = [&](const BuiltModel& model) -> Result<LoadedVariables> {
      SHOAL_TRY_VOID(check_use_of_weights(run.log(), estimator_.config(), {meaning_, op_versions_},
                                          "the training of this process", model, Mode::kEval));
      return LoadedVariables::load(run.env(), model.graph(), LoadedVariables::Fill(copy));
    };
    const WeightsToEvaluate weights{.global_step = run.global_step(), .load = load};
    value_or_raise(run_evaluation_of(run.env(), weights, estimator_, input_fn_, options_));
    run.note_evaluation();
  }
  static Result<void> copy_live(RunContext& run, const Variable& variable, std::span<std::byte> place) {
    const TensorView live = run.variable(variable.name);
    if (live.dtype != variable.dtype || live.shape != variable.shape) {
      return invalid_argument("in_memory_evaluator: variable " + variable.name + " is " +
                              std::string(to_string(live.dtype)) + " " + to_string(live.shape) + " in training and " +
                              std::string(to_string(variable.dtype)) + " " + to_string(variable.shape) +
                              " in evaluation; build the same network in both modes");
    }
    std::memcpy(place.data(), live.data, place.size());
    return {};
  }

  const Estimator estimator_;
  const InputFn input_fn_;
  const EvaluateOptions options_;
  const uint64_t every_;
  std::string meaning_;      // What the ids and logits of the trained model stand for, as text (Meaning::encode()).
  std::string op_versions_;  // The versions of the user's own ops in training, as encode_rules() writes them.
  uint64_t evaluated_ = 0;   // The number of iterations at the last evaluation.
};

}  // namespace

std::shared_ptr<Hook> in_memory_evaluator(const Estimator& estimator, InputFn input_fn, InMemoryEvaluatorOptions options) {
  const std::string call = "in_memory_evaluator";
  if (!input_fn) raise(type_mismatch(call + ": an input function is required"));
  if (options.every_iterations <= 0) {
    raise(invalid_argument(call + ": every_iterations must be greater than 0, not " +
                           std::to_string(options.every_iterations)));
  }
  EvaluateOptions evaluate{
      .steps = options.steps, .hooks = std::move(options.hooks), .checkpoint = {}, .name = std::move(options.name)};
  value_or_raise(check_options(call, evaluate));
  const RunConfig& config = estimator.config();
  if (config.num_ps_replicas() > 0 || config.num_trainers() > 1) {
    raise(failed_precondition(call + ": the cluster of " + config.task().name() + " has " +
                              std::to_string(config.num_ps_replicas()) + " parameter servers and " +
                              std::to_string(config.num_trainers()) +
                              " trainers, and this hook evaluates variables of its own process; leave it out, and give the "
                              "cluster an evaluator"));
  }
  return std::make_shared<InMemoryEvaluator>(estimator, std::move(input_fn), std::move(evaluate),
                                             uint64_t(options.every_iterations));
}

}  // namespace shoal
