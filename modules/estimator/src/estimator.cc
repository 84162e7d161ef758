// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/estimator.h"

#include <algorithm>

#include "evaluate/evaluation.h"
#include "model/model.h"
#include "model/open_checkpoint.h"
#include "model/warm_start_choice.h"
#include "shoal/base/forever.h"
#include "shoal/base/path_error.h"
#include "shoal/checkpoint/directory.h"
#include "task/give_way.h"
#include "task/metered_task.h"
#include "task/task_network.h"
#include "train/measure_input.h"
#include "train/train_task.h"

namespace shoal {
namespace {

/// The model_dir that was given; empty if there is none.
Result<std::string> resolve_model_dir(const RunConfig& config, const std::optional<std::string>& given) {
  if (given && given->empty()) return invalid_argument("Estimator: model_dir must not be the empty string");
  if (given && config.model_dir() && *given != *config.model_dir()) {
    return invalid_argument("model_dir is " + *given + " in the Estimator and " + *config.model_dir() +
                            " in the RunConfig; give it once, or the same");
  }
  if (given && !config.storage() && !config.own_environment()) {
    Result<void> path = check_path(*given);
    if (!path) return std::move(path).error().with_context("Estimator: model_dir");
  }
  if (given) return *given;
  if (config.model_dir()) return *config.model_dir();
  if (config.task().mode != cluster::TaskMode::kLocal && config.task_type() != cluster::kPsRole) {
    return invalid_argument("task " + config.task_type() +
                            " needs a model_dir that all tasks of the job can see; give one "
                            "by --model-dir, in the RunConfig, the Estimator or TF_CONFIG");
  }
  return std::string();
}

/// The storage of `env`, for as long as the result lives. An environment that belongs to the program or the task is kept
/// alive; one that was made for this call is not, since it has threads.
std::shared_ptr<Storage> storage_for_later(const RunConfig& config, const std::shared_ptr<Environment>& env) {
  const bool is_given = config.own_environment() || host_of(config).environment;
  return is_given ? std::shared_ptr<Storage>(env, &env->storage()) : config.storage();
}

/// True if the estimator needs a folder and was given none. A parameter server writes nothing there, and neither does a
/// program that only measures its input.
bool needs_temporary_folder(const RunConfig& config, const std::string& model_dir) {
  return model_dir.empty() && config.task_type() != cluster::kPsRole && !host_of(config).measure_input;
}

/// Runs `work` in the environment of the task that makes this call, or in a new environment if no task makes it.
template <class Fn>
auto in_environment(const RunConfig& config, Fn&& work) {
  const std::shared_ptr<Environment> env = make_call_environment(config);
  return work(*env);
}

template <class T>
Result<void> refuse_null(std::string_view call, std::string_view field, const std::vector<std::shared_ptr<T>>& items) {
  if (std::find(items.begin(), items.end(), nullptr) == items.end()) return {};
  return invalid_argument("Estimator::" + std::string(call) + ": " + std::string(field) + ": one of them is null");
}

Result<void> check_options(const TrainOptions& options, const RunConfig& config) {
  if (options.steps && options.max_steps) return invalid_argument("Estimator::train: give steps or max_steps, not both");
  if (options.steps.value_or(1) <= 0) return invalid_argument("Estimator::train: steps must be greater than 0");
  if (options.max_steps.value_or(1) <= 0) return invalid_argument("Estimator::train: max_steps must be greater than 0");
  SHOAL_TRY_VOID(refuse_null("train", "hooks", options.hooks));
  SHOAL_TRY_VOID(refuse_null("train", "saving_listeners", options.saving_listeners));
  if (!options.saving_listeners.empty() && !config.saves_checkpoints()) {
    return invalid_argument("Estimator::train: saving_listeners need checkpoints, which this config disables");
  }
  return {};
}

}  // namespace

Estimator::Estimator(ModelFn model_fn, RunConfig config, Params params, std::optional<std::string> model_dir)
    : Estimator(value_or_raise(try_make(std::move(model_fn), std::move(config), std::move(params), std::move(model_dir)))) {
}

Result<Estimator> Estimator::try_make(ModelFn model_fn, RunConfig config, Params params,
                                      std::optional<std::string> model_dir) {
  Estimator made;
  made.model_fn_ = std::move(model_fn);
  made.config_ = std::move(config);
  made.params_ = std::move(params);
  if (!made.model_fn_) return invalid_argument("Estimator: a model_fn is required");
  SHOAL_TRY(made.model_dir_, resolve_model_dir(made.config_, model_dir));
  if (needs_temporary_folder(made.config_, made.model_dir_)) {
    const std::shared_ptr<Environment> env = make_call_environment(made.config_);
    SHOAL_TRY(TemporaryModelDir temporary, make_temporary_model_dir(*env, storage_for_later(made.config_, env)));
    made.model_dir_ = std::move(temporary.path);
    made.temporary_model_dir_ = std::move(temporary.remover);
  }
  return made;
}

Estimator& Estimator::warm_start(WarmStart start) {
  value_or_raise(check_warm_start(start));
  warm_start_ = std::make_shared<const WarmStart>(std::move(start));
  return *this;
}

Estimator& Estimator::vary(VaryingAxes axes) {
  for (const auto& [input, names] : axes) {
    if (std::find(names.begin(), names.end(), kBatchAxis) == names.end()) continue;
    raise(invalid_argument("Estimator::vary: axes of " + input +
                           ": \"batch\" is the first axis of every input; take another name"));
  }
  varying_ = std::make_shared<const VaryingAxes>(std::move(axes));
  return *this;
}

Estimator& Estimator::use_ops(std::vector<OpDef> ops) {
  auto catalogue = catalogue_of(std::move(ops));
  if (!catalogue) raise(std::move(catalogue).error().with_context("Estimator::use_ops"));
  ops_ = std::move(catalogue).value();
  return *this;
}

Estimator Estimator::with_config(RunConfig config) const {
  Estimator copy = *this;
  copy.config_ = std::move(config);
  return copy;
}

Estimator& Estimator::train(const InputFn& input_fn, TrainOptions options) {
  value_or_raise(try_train(input_fn, std::move(options)));
  return *this;
}

Result<void> Estimator::try_train(const InputFn& input_fn, TrainOptions options) {
  if (config_.task_type() == cluster::kPsRole || config_.task_type() == cluster::kEvaluatorRole) {
    return failed_precondition("Estimator::train does nothing useful in a " + config_.task_type() +
                               " task; call train_and_evaluate, which runs every role");
  }
  if (!input_fn) return type_mismatch("Estimator::train: an input function is required");
  if (host_of(config_).predict) {
    return failed_precondition(
        "--predict: this program trains by Estimator::train; only train_and_evaluate heeds the flag");
  }
  if (MeasureInput* const request = host_of(config_).measure_input.get()) {
    SHOAL_TRY_VOID(measure_input(*this, input_fn, *request));
    return Error(ErrorKind::kCancelled, "the input is measured, and nothing was trained");
  }
  SHOAL_TRY_VOID(check_options(options, config_));
  SHOAL_TRY_VOID(check_task(config_));
  const bool distributed = config_.num_ps_replicas() > 0;
  const std::shared_ptr<Environment> env = make_task_environment(config_);
  SHOAL_TRY_VOID(check_reach(*env, config_));
  if (config_.task().has_ended) {
    env->log().info("training finished before this task arrived; nothing to do");
    return {};
  }
  if (trained_) {
    env->log().warning("training: the weights of step " + std::to_string(trained_->global_step) +
                       ", which an earlier call trained without checkpoints, are replaced: this call does not go on from "
                       "them (RunConfig: save_checkpoints_steps or save_checkpoints_secs turn checkpoints on)");
  }
  SHOAL_TRY(const auto metered, MeteredTask::begin(with_environment(config_, env), *env));
  const Estimator own = with_config(metered->config());
  const TrainRequest request{.estimator = own,
                             .input_fn = input_fn,
                             .role = !distributed         ? TrainRole::kLocal
                                     : config_.is_chief() ? TrainRole::kChief
                                                          : TrainRole::kWorker,
                             .max_steps = options.max_steps,
                             .steps = options.steps,
                             .hooks = options.hooks,
                             .listeners = options.saving_listeners,
                             .write_end_mark = distributed && config_.is_chief(),
                             .new_pass_at_end = !distributed,
                             .keep_weights = !config_.saves_checkpoints()};
  auto outcome = distributed ? env->run(trainer_task(*env, request)) : env->run(train_task(*env, request));
  if (!outcome && gives_way(*env, outcome.error())) return gave_way(own.config());
  const bool was_interrupted =
      !outcome && is_interrupt(outcome.error()) && (distributed || env->interrupted().stop_requested());
  if (!outcome && !was_interrupted) return std::move(outcome).error();
  if (!outcome || outcome->interrupted) tell_interrupted(own.config(), model_dir_);
  // Keeps the weights that this call left in memory. If it wrote checkpoints instead, drops weights that an earlier call
  // left, since they are outdated.
  if (outcome && (outcome->weights || config_.saves_checkpoints())) trained_ = outcome->weights;
  return {};
}

Metrics Estimator::evaluate(const InputFn& input_fn, EvaluateOptions options) const {
  return value_or_raise(try_evaluate(input_fn, std::move(options)));
}

Result<Metrics> Estimator::try_evaluate(const InputFn& input_fn, EvaluateOptions options) const {
  if (!input_fn) return type_mismatch("Estimator::evaluate: an input function is required");
  SHOAL_TRY_VOID(check_options("Estimator::evaluate", options));
  return in_environment(config_, [&](Environment& env) -> Result<Metrics> {
    if (!options.checkpoint) warn_of_weights_in_memory(env, "evaluation", trained_.get());
    SHOAL_TRY(Evaluation evaluation, run_evaluation(env, *this, input_fn, options, stop_of_call(config_)));
    return std::move(evaluation.metrics);
  });
}

std::vector<std::string> Estimator::variable_names() const { return value_or_raise(try_variable_names()); }

Result<std::vector<std::string>> Estimator::try_variable_names() const {
  return in_environment(config_, [&](Environment& env) -> Result<std::vector<std::string>> {
    SHOAL_TRY(const auto reader, open_checkpoint(env, model_dir_, std::nullopt));
    if (!reader) return not_found("no checkpoint in " + model_dir_);
    std::vector<std::string> names;
    for (const auto& tensor : reader->manifest().tensors) names.push_back(tensor.name);
    return names;
  });
}

Tensor Estimator::variable_value(const std::string& name) const { return value_or_raise(try_variable_value(name)); }

Result<Tensor> Estimator::try_variable_value(const std::string& name) const {
  return in_environment(config_, [&](Environment& env) -> Result<Tensor> {
    SHOAL_TRY(const auto reader, open_checkpoint(env, model_dir_, std::nullopt));
    if (!reader) return not_found("no checkpoint in " + model_dir_);
    return reader->read_tensor(name);
  });
}

std::optional<std::string> Estimator::latest_checkpoint() const { return value_or_raise(try_latest_checkpoint()); }

Result<std::optional<std::string>> Estimator::try_latest_checkpoint() const {
  return in_environment(config_, [&](Environment& env) {
    const auto warn = [&env](const std::string& sentence) { env.log().warning(sentence); };
    return checkpoint::newest(env.storage(), model_dir_, warn);
  });
}

std::string Estimator::eval_dir(const std::optional<std::string>& name) const { return eval_folder(model_dir_, name); }

const VaryingAxes& Estimator::varying() const {
  static const VaryingAxes& none = forever(VaryingAxes());
  return varying_ ? *varying_ : none;
}

}  // namespace shoal
