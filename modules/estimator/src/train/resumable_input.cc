// SPDX-License-Identifier: Apache-2.0
#include "train/resumable_input.h"

#include "evaluate/batches_with_rows.h"
#include "shoal/base/random.h"
#include "train/training_warnings.h"

namespace shoal {

namespace {

Estimator as_replica(const Estimator& estimator, int replica) {
  const RunConfig& config = estimator.config();
  return estimator.with_config(config.as_replica(replica, config.replicas()));
}

}  // namespace

ResumableInput::ResumableInput(TrainScope& scope, int replica)
    : scope_(scope), replica_(replica), estimator_(as_replica(scope.request.estimator, replica)) {}

Result<void> ResumableInput::open(bool bounded) {
  const TrainRequest& request = scope_.request;
  SHOAL_TRY(OpenedInput opened,
            open_input(scope_.env, estimator_, request.input_fn, Mode::kTrain, scope_.run.seed, scope_.env.interrupted()));
  dataset_ = std::move(opened.dataset);
  input_.iterator = std::move(opened.iterator);
  if (scope_.leads() && replica_ == 0) warn_about_input(scope_.env.log(), *dataset_, estimator_.config(), bounded);
  if (auto position = input_.iterator->save()) start_position_ = input_.first_position = encode_position(*position);
  data::Batch batch;
  SHOAL_TRY(const bool any, input_.iterator->next(batch));
  if (!any) return learn_types_elsewhere();
  SHOAL_TRY(types_, input_types(batch, estimator_.varying()));
  input_.first_batch = std::move(batch);
  return {};
}

Result<void> ResumableInput::learn_types_elsewhere() {
  const TrainRequest& request = scope_.request;
  const auto options = iterate_options(estimator_.config(), Mode::kTrain, scope_.run.seed, scope_.env.interrupted());
  if (const auto typical = dataset_->typical_element(scope_.env, options)) {
    SHOAL_TRY(types_, input_types(*typical, estimator_.varying()));
    return {};
  }
  if (!request.types_from) return {};
  SHOAL_TRY(OpenedInput other, open_input(scope_.env, request.estimator, *request.types_from, Mode::kEval, scope_.run.seed,
                                          scope_.env.interrupted()));
  data::Batch batch;
  SHOAL_TRY(const bool any, other.iterator->next(batch));
  types_from_is_empty_ = !any;
  if (!any) return {};
  SHOAL_TRY(types_, input_types(batch, estimator_.varying()));
  return {};
}

Result<SymbolSizes> ResumableInput::first_sizes(const BuiltModel& model) const {
  if (!input_.first_batch) return model.smallest_sizes();
  return model.sizes_of(*input_.first_batch);
}

Result<void> ResumableInput::move_to(const std::optional<std::string>& position) {
  const std::string& target = position ? *position : start_position_;
  if (target.empty() || (input_.first_batch && target == input_.first_position)) return {};
  auto decoded = decode_position(target);
  Result<void> restored = decoded ? input_.iterator->restore(*decoded) : Result<void>(decoded.error());
  input_.first_batch.reset();
  if (!restored && scope_.env.interrupted().stop_requested()) return cancelled();
  if (!restored) {
    scope_.env.log().warning("the input begins anew: " + restored.error().message());
    return begin_anew();
  }
  resumed_ = target != start_position_;
  if (!scope_.request.new_pass_at_end) return {};
  data::Batch batch;
  SHOAL_TRY(const bool any, input_.iterator->next(batch));
  if (!any) return begin_new_pass();
  input_.first_batch = std::move(batch);
  input_.first_position = target;
  return {};
}

bool ResumableInput::has_place(const std::string& position) const {
  const auto decoded = decode_position(position);
  return decoded && input_.iterator->check(*decoded);
}

Result<void> ResumableInput::begin_anew() { return begin_by(scope_.run.seed); }

/// Begins a new pass, in another order than the passes before, for a program that calls train() once per pass.
Result<void> ResumableInput::begin_new_pass() {
  return begin_by(int64_t(fold_in(fold_in(RandomKey(scope_.run.seed), "new pass"), uint64_t(pass_))));
}

Result<void> ResumableInput::begin_by(int64_t run_seed) {
  resumed_ = false;
  const RunConfig& config = estimator_.config();
  SHOAL_TRY(input_.iterator, iterate_batches_with_rows(scope_.env, *dataset_,
                                                       {.seed = config.random_seed(),
                                                        .trainer_index = config.trainer_index(),
                                                        .num_trainers = config.num_trainers(),
                                                        .run_seed = run_seed,
                                                        .stop = scope_.env.interrupted(),
                                                        .batch_bytes_max = config.memory_limit(),
                                                        .measure = true}));
  return {};
}

Result<void> ResumableInput::reseed() {
  if (!dataset_ || estimator_.config().random_seed()) return {};
  SHOAL_TRY_VOID(begin_anew());
  input_.first_batch.reset();
  if (auto position = input_.iterator->save()) start_position_ = input_.first_position = encode_position(*position);
  return {};
}

}  // namespace shoal
