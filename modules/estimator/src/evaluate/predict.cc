// SPDX-License-Identifier: Apache-2.0
// Estimator::predict(): computes predictions when they are asked for, one result per example or per batch.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "evaluate/batch_row.h"
#include "evaluate/predictor.h"
#include "hooks/loop_context.h"
#include "model/open_checkpoint.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/task_host.h"
#include "task/run_seed.h"
#include "task/task_network.h"

namespace shoal {
namespace {

class LazyPredictions final : public Predictions {
 public:
  LazyPredictions(const Estimator& estimator, PredictOptions options)
      : estimator_(estimator),
        options_(std::move(options)),
        env_(make_call_environment(estimator.config())),
        stop_(stop_of_call(estimator.config())),
        context_(*env_, estimator.config().host().get()) {}

  Result<void> open(const InputFn& input_fn, const TrainedWeights* trained);
  Result<std::optional<data::TensorMap>> try_next() override;

 private:
  Result<std::optional<data::TensorMap>> next_result();
  Result<void> finish();
  Result<bool> next_batch();
  Result<void> check_rows() const;

  const Estimator estimator_;  // A copy, since the caller's estimator may be destroyed first.
  PredictOptions options_;
  std::shared_ptr<Environment> env_;
  const StopToken stop_;
  OpenedInput input_;
  std::optional<data::Batch> first_;
  std::unique_ptr<Predictor> predictor_;
  std::vector<std::shared_ptr<Hook>> hooks_;
  LoopContext context_;
  StepRequest request_;
  StepValues values_;
  NamedValues final_values_;               // The values that hooks read at the end (HookSetup::fetch_at_end()).
  std::optional<data::Batch> last_batch_;  // The batch from which final_values_ are computed.
  data::TensorMap results_;
  int64_t rows_ = 0;
  int64_t row_ = 0;
  std::optional<Error> failed_;  // The error that ended these predictions.
  std::atomic_flag busy_;        // Set while a thread is in try_next().
};

Result<void> LazyPredictions::open(const InputFn& input_fn, const TrainedWeights* trained) {
  if (!options_.checkpoint) warn_of_weights_in_memory(*env_, "prediction", trained);
  SHOAL_TRY(const auto reader, open_checkpoint(*env_, estimator_, options_.checkpoint));
  if (!reader) env_->log().info("prediction: " + without_checkpoint(estimator_) + " predicts");
  const std::optional<int64_t> seed = seed_of_run(*env_, estimator_.config(), estimator_.model_dir());
  SHOAL_TRY(input_, open_input(*env_, estimator_, input_fn, Mode::kPredict, seed, stop_));
  data::Batch batch;
  SHOAL_TRY(const bool any, input_.iterator->next(batch));
  if (!any) {
    env_->log().warning("prediction: the input is empty or wrongly set up; nothing was predicted");
    return {};
  }
  batch.labels = {};
  SHOAL_TRY(const InputTypes types, input_types(batch, estimator_.varying()));
  SHOAL_TRY(auto model, BuiltModel::build({estimator_.model_fn(), Mode::kPredict, estimator_.params(), estimator_.config(),
                                           graph_seed(*env_, seed), estimator_.ops()},
                                          types));
  SHOAL_TRY_VOID(set_up_computation(*env_, estimator_.config(), *model));
  context_.set_global_step(reader ? uint64_t(reader->global_step()) : 0);
  context_.set_task(true, estimator_.model_dir(), nullptr);
  hooks_ = options_.hooks;
  hooks_.insert(hooks_.end(), model->spec().prediction_hooks.begin(), model->spec().prediction_hooks.end());
  HookSetup setup = model->hook_setup();
  for (const auto& hook : hooks_) SHOAL_TRY_VOID(call_user("prediction hook begin", [&] { hook->begin(setup); }));
  for (const auto& [name, value] : setup.fetches()) values_.values().emplace_back(name, TensorView{});
  final_values_ = setup.fetches_at_end();
  SHOAL_TRY(LoadedVariables variables, load_variables(*env_, estimator_, Mode::kPredict, *model, reader.get()));
  SHOAL_TRY(predictor_, Predictor::make(std::move(model), std::move(variables), options_.keys, setup.fetches()));
  for (const auto& hook : hooks_)
    SHOAL_TRY_VOID(call_user("prediction hook after_ready", [&] { hook->after_ready(context_); }));
  first_ = std::move(batch);
  return {};
}

/// Predicts one batch, and calls the hooks as in one iteration of training. At the end of the input only before_step() is
/// called.
Result<bool> LazyPredictions::next_batch() {
  if (!predictor_ || context_.stop_requested()) return false;
  if (stop_.stop_requested()) return cancelled();
  request_.clear();
  for (const auto& hook : hooks_) {
    SHOAL_TRY_VOID(call_user("prediction hook before_step", [&] { hook->before_step(context_, request_); }));
  }
  data::Batch batch;
  if (first_) {
    batch = std::move(*first_);
    first_.reset();
  } else {
    SHOAL_TRY(const bool more, input_.iterator->next(batch));
    if (!more) return false;
  }
  SHOAL_TRY(rows_, batch_size(batch));
  row_ = 0;
  auto predicted = predictor_->predict(batch, request_, &values_);
  if (!predicted) return with_place_of_row(std::move(predicted).error(), batch, *input_.iterator, request_.feeds());
  results_ = *std::move(predicted);
  if (!final_values_.empty()) last_batch_ = std::move(batch);
  context_.count_iteration();
  for (const auto& hook : hooks_) {
    SHOAL_TRY_VOID(call_user("prediction hook after_step", [&] { hook->after_step(context_, values_); }));
  }
  if (options_.yield_single_examples) SHOAL_TRY_VOID(check_rows());
  return true;
}

Result<void> LazyPredictions::finish() {
  if (!predictor_) return {};
  if (last_batch_) {
    SHOAL_TRY(auto values, predictor_->compute_once(final_values_, *last_batch_));
    context_.set_final_values(std::move(values));
  }
  predictor_.reset();
  for (const auto& hook : hooks_) SHOAL_TRY_VOID(call_user("prediction hook end", [&] { hook->end(context_); }));
  return {};
}

Result<void> LazyPredictions::check_rows() const {
  for (const auto& [key, tensor] : results_) {
    if (tensor.shape().rank() > 0 && tensor.shape()[0] == rows_) continue;
    return invalid_argument("predict: prediction " + key + " is " + to_string(tensor.shape()) +
                            ", it has not one row per "
                            "example of the batch of " +
                            std::to_string(rows_) + "; set yield_single_examples to false");
  }
  return {};
}

/// Refuses a second call while one is under way, instead of waiting for it: the second call may come from a user's function
/// that the first one runs, and would then wait for ever.
Result<std::optional<data::TensorMap>> LazyPredictions::try_next() {
  if (busy_.test_and_set(std::memory_order_acquire)) {
    return failed_precondition(
        "predict: next() was called while another call of it was under way; let one thread at a time ask, or give each "
        "thread predictions of its own");
  }
  Result<std::optional<data::TensorMap>> result =
      failed_ ? Result<std::optional<data::TensorMap>>(*failed_) : next_result();
  if (!result)
    failed_ = result.error();  // `results_` may be of an older batch than rows_, so nothing is read from it again.
  busy_.clear(std::memory_order_release);
  return result;
}

Result<std::optional<data::TensorMap>> LazyPredictions::next_result() {
  const bool single = options_.yield_single_examples;
  while (!single || row_ >= rows_) {  // A batch may have no rows.
    SHOAL_TRY(const bool more, next_batch());
    if (!more) {
      SHOAL_TRY_VOID(finish());
      return std::optional<data::TensorMap>();
    }
    if (!single) return std::optional<data::TensorMap>(std::move(results_));
  }
  data::TensorMap example;
  for (const auto& [key, tensor] : results_) example.set(key, batch_row(tensor, row_, BatchAxis::kDropped));
  ++row_;
  return std::optional<data::TensorMap>(std::move(example));
}

}  // namespace

std::unique_ptr<Predictions> Estimator::predict(const InputFn& input_fn, PredictOptions options) const {
  return value_or_raise(try_predict(input_fn, std::move(options)));
}

Result<std::unique_ptr<Predictions>> Estimator::try_predict(const InputFn& input_fn, PredictOptions options) const {
  if (!input_fn) return type_mismatch("Estimator::predict: an input function is required");
  if (std::find(options.hooks.begin(), options.hooks.end(), nullptr) != options.hooks.end()) {
    return invalid_argument("Estimator::predict: hooks: one of them is null");
  }
  auto predictions = std::make_unique<LazyPredictions>(*this, std::move(options));
  SHOAL_TRY_VOID(predictions->open(input_fn, trained_.get()));
  return std::unique_ptr<Predictions>(std::move(predictions));
}

std::optional<data::TensorMap> Predictions::next() { return value_or_raise(try_next()); }

}  // namespace shoal
