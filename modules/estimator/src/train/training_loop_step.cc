// SPDX-License-Identifier: Apache-2.0
// The functions of TrainingLoop that run on the compute thread: they draw batches, compute a step, and call hooks.
#include <cstring>
#include <utility>

#include "train/step_verdict.h"
#include "train/training_loop.h"

namespace shoal {

/// Computes the step of each replica (trainer of this process) whose input has not ended. Hooks see the values of the first
/// of these replicas.
Result<void> TrainingLoop::compute_step() {
  fault_.reset();
  step_examples_ = 0;
  SHOAL_TRY_VOID(call_before_step());
  SHOAL_TRY(const bool any, draw_batches());
  if (!any) return end_of_input();
  bool observed = true;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (!replicas_[i].drawn) continue;
    if (!observed) SHOAL_TRY_VOID(options_.store->next_replica(scalars_));
    SHOAL_TRY_VOID(compute_replica(i, observed));
    if (fault_) break;
    observed = false;
  }
  return {};
}

Result<void> TrainingLoop::compute_replica(size_t replica, bool observed) {
  std::string position;
  if (options_.store->wants_positions()) {
    SHOAL_TRY(position, input_position(replica));
  }
  SHOAL_TRY_VOID(options_.store->start(step_, options_.inputs[replica]->iterator->ordinal(), position));
  SHOAL_TRY_VOID(begin_program(replica, observed));
  return run_on();
}

Result<void> TrainingLoop::call_after_ready() {
  // Only the chief writes the start event: it makes TensorBoard drop all tasks' older records of this step and later ones.
  if (context_.is_chief() && context_.summaries()) {
    SHOAL_TRY_VOID(context_.summaries()->add_start(int64_t(context_.global_step()) + 1));
  }
  for (const auto& hook : options_.hooks) {
    SHOAL_TRY_VOID(call_user("hook after_ready", [&] { hook->after_ready(context_); }));
  }
  return {};
}

Result<void> TrainingLoop::call_before_step() {
  request_.clear();
  for (const auto& hook : options_.hooks) {
    SHOAL_TRY_VOID(call_user("hook before_step", [&] { hook->before_step(context_, request_); }));
  }
  return {};
}

Result<bool> TrainingLoop::draw_batches() {
  bool any = false;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    Result<bool> drawn = draw_batch(i);
    if (!drawn) {
      put_back(i);
      return drawn;
    }
    replicas_[i].drawn = *drawn;
    any |= replicas_[i].drawn;
    if (!replicas_[i].drawn) options_.store->note_end_of_input(int(options_.trainer_index + i));
  }
  return any;
}

/// Called when replica `failed` could not draw its batch, for example because of an interrupt. The replicas before it have
/// drawn theirs already: their inputs will give these batches once more, so that none is lost.
void TrainingLoop::put_back(size_t failed) {
  for (size_t i = 0; i < failed; ++i) {
    if (replicas_[i].drawn) options_.inputs[i]->first_batch = replicas_[i].batch;
  }
}

Result<bool> TrainingLoop::draw_batch(size_t replica) {
  TrainingInput& input = *options_.inputs[replica];
  if (replicas_.size() > 1 && !input.first_batch) {
    const auto position = input.iterator->save();
    input.first_position = position ? encode_position(*position) : std::string();
  }
  if (!input.first_batch && options_.final_values.empty()) return next_of(input, replicas_[replica].batch);
  if (!input.first_batch) {
    SHOAL_TRY(const bool more, next_of(input, next_batch_));
    if (more) std::swap(replicas_[replica].batch, next_batch_);
    return more;
  }
  replicas_[replica].batch = std::move(*input.first_batch);
  input.first_batch.reset();
  return true;
}

Result<bool> TrainingLoop::next_of(TrainingInput& input, data::Batch& batch) {
  const SteadyTime asked = env_.now();
  Result<bool> more = input.iterator->next(batch);
  const Duration waited = env_.now() - asked;
  input_watch_.waited(waited);
  if (options_.meters) options_.meters->input_wait.add(waited);
  return more;
}

Result<void> TrainingLoop::begin_program(size_t replica, bool observed) {
  data::Batch& batch = replicas_[replica].batch;
  SHOAL_TRY(const int64_t size, batch_size(batch));
  step_examples_ += uint64_t(size);
  SHOAL_TRY(const SymbolSizes sizes, options_.model->sizes_of(batch));
  SHOAL_TRY(BoundProgram* const program, options_.model->program(sizes, request_.fetches() && observed));
  const uint64_t number = options_.inputs[replica]->iterator->ordinal();
  options_.model->set_global_step(step_.global_step);
  SHOAL_TRY_VOID(options_.model->check_feeds(*program, request_.feeds()));
  if (auto fed = options_.model->feed(*program, batch, request_.feeds()); !fed)
    return in_batch(std::move(fed).error(), {number, batch, *options_.inputs[replica]->iterator, request_.feeds()});
  const nn::TrainOp& train_op = *options_.model->spec().train_op;
  backends::UpdateApplier* applier = nullptr;
  if (scalar_values_.empty()) {
    SHOAL_TRY_VOID(nn::compute_scalars(train_op, step_.global_step, {}, scalars_));
    const bool loss_comes_first = program->program->info().fetches_before_updates;
    if (replicas_.size() == 1 && loss_comes_first) applier = options_.store->apply_during_run(scalars_);
  }
  running_ = {.program = program->program.get(),
              .binding = {.inputs = program->inputs,
                          .variables = step_.variables,
                          .updates = step_.updates,
                          .weights = step_.weights,
                          .key = {options_.trainer_index + replica, number},
                          .arrivals = step_.arrivals,
                          .applier = applier,
                          .may_apply = loss_check(options_.allow_non_finite),
                          .listener = options_.store->listener(),
                          .observer = observed ? request_.observer() : nullptr},
              .progress = {},
              .batch_size = size,
              .batch_number = number,
              .replica = replica,
              .observed = observed};
  return {};
}

Result<void> TrainingLoop::run_on() {
  Result<void> ran = running_.program->run_on(running_.binding, running_.progress);
  if (!ran) {
    return in_batch(std::move(ran).error(), {running_.batch_number, replicas_[running_.replica].batch,
                                             *options_.inputs[running_.replica]->iterator, request_.feeds()});
  }
  return running_.progress.done ? take_results() : Result<void>();
}

/// Takes the program's results: the loss, the values of scalars, the values for hooks and, for variables of which a step
/// updates single rows, the ids and gradients of these rows.
Result<void> TrainingLoop::take_results() {
  std::span<const TensorView> fetched = running_.program->fetched();
  const double loss = double(fetched[0].as<float>()[0]);
  fetched = fetched.subspan(1);
  for (size_t i = 0; i < scalar_values_.size(); ++i) scalar_values_[i] = fetched[i].as<float>()[0];
  fault_ = find_fault({.loss = loss,
                       .train_op = &*options_.model->spec().train_op,
                       .scalar_values = scalar_values_,
                       .global_step = step_after(),
                       .lenient = options_.allow_non_finite});
  if (!scalar_values_.empty()) {
    auto computed = nn::compute_scalars(*options_.model->spec().train_op, step_.global_step, scalar_values_, scalars_);
    if (!computed && !fault_) return computed;  // A step with a fault ends with this fault.
  }
  fetched = fetched.subspan(scalar_values_.size());
  for (cluster::RowGradients& part : row_gradients_) {
    part.ids = fetched[0];
    part.gradients = fetched[1];
    fetched = fetched.subspan(2);
  }
  // Only servers read step_.loss. With several replicas it is the loss of just one of them, but then there are no servers.
  step_.loss = loss;
  if (input_watch_.share()) step_.input_wait = *input_watch_.share();
  if (running_.observed) {
    values_.set(loss, running_.batch_size, !fetched.empty());
    for (size_t i = 0; i < fetched.size(); ++i) values_.values()[i].second = fetched[i];
    for (size_t i = 0; i < scalars_.size(); ++i) values_.scalars()[i].second = scalars_[i];
    if (replicas_.size() > 1) keep_values();
  }
  if (row_gradients_.empty() || fault_) return {};
  return options_.store->add_rows(step_, row_gradients_);
}

/// Copies the values for hooks, because the program of the next replica overwrites their memory.
void TrainingLoop::keep_values() {
  kept_values_.clear();
  kept_values_.reserve(values_.values().size());
  if (!request_.fetches()) return;
  for (auto& [name, value] : values_.values()) {
    Tensor& kept = kept_values_.emplace_back(value.dtype, value.shape);
    std::memcpy(kept.mutable_view().data, value.data, kept.bytes());
    value = kept.view();
  }
}

Result<void> TrainingLoop::call_after_step() {
  for (const auto& hook : options_.hooks) {
    SHOAL_TRY_VOID(call_user("hook after_step", [&] { hook->after_step(context_, values_); }));
  }
  return input_watch_.stepped(context_.global_step(), *options_.inputs[0]->iterator);
}

Result<void> TrainingLoop::call_end() {
  constexpr bool kEnds = true;
  SHOAL_TRY_VOID(input_watch_.stepped(context_.global_step(), *options_.inputs[0]->iterator, kEnds));
  for (const auto& hook : options_.hooks) {
    SHOAL_TRY_VOID(call_user("hook end", [&] { hook->end(context_); }));
  }
  return {};
}

}  // namespace shoal
