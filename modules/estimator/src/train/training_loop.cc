// SPDX-License-Identifier: Apache-2.0
#include "train/training_loop.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <utility>

#include "shoal/base/compute.h"
#include "shoal/monitor/event_writer.h"
#include "train/keep_weights.h"
#include "train/step_verdict.h"

namespace shoal {

std::string encode_position(const data::Position& position) {
  std::string bytes(sizeof position.ordinal, '\0');
  for (size_t i = 0; i < sizeof position.ordinal; ++i) bytes[i] = char(position.ordinal >> (8 * i));
  return bytes + position.state;
}

Result<data::Position> decode_position(std::string_view bytes) {
  data::Position position;
  if (bytes.size() < sizeof position.ordinal) return data_loss("an input position is cut short");
  for (size_t i = 0; i < sizeof position.ordinal; ++i) position.ordinal |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  position.state = bytes.substr(sizeof position.ordinal);
  return position;
}

TrainingLoop::TrainingLoop(Environment& env, LoopContext& context, LoopOptions options)
    : env_(env),
      context_(context),
      options_(std::move(options)),
      replicas_(options_.inputs.size()),
      input_watch_(env, options_.input_watch) {
  if (const auto& train_op = options_.model->spec().train_op) {
    scalars_.resize(train_op->scalars.size());
    scalar_values_.resize(nn::scalar_values(*train_op).size());
    size_t variable = 0;
    for (const nn::VariableUpdate& update : train_op->updates) {
      for (size_t i = 0; i < update.rows.size(); ++i)
        row_gradients_.push_back({.variable = variable, .ids = {}, .gradients = {}});
      variable += !update.rows.empty();
    }
  }
  context_.read_variables_by([store = options_.store](std::string_view name) { return store->variable(name); });
  for (std::string& name : options_.fetch_names) values_.values().emplace_back(std::move(name), TensorView{});
}

Task<Result<LoopEnd>> TrainingLoop::run(cluster::Ready first) {
  enter(first);
  next_look_at_place_ = env_.after(options_.check_place_every);
  Result<void> made = co_await ready();
  if (!made && is_recoverable(made.error())) made = co_await recover(std::move(made).error());
  SHOAL_CO_TRY_VOID(std::move(made));
  co_return co_await iterations();
}

Task<Result<LoopEnd>> TrainingLoop::resume(Error why) {
  const bool was_done = reached_max();
  SHOAL_CO_TRY_VOID(co_await recover(std::move(why)));
  if (was_done && !reached_max()) context_.clear_stop();
  end_of_input_ = false;  // Recovery may have moved the input back. If not, the input reports its end again.
  co_return co_await iterations();
}

Task<Result<LoopEnd>> TrainingLoop::iterations() {
  set_phase(monitor::TaskPhase::kTraining);
  while (may_go_on() && !env_.interrupted().stop_requested()) {
    Result<bool> more = co_await iterate();
    if (!more && is_recoverable(more.error())) {
      Result<void> recovered = co_await recover(std::move(more).error());
      if (recovered) continue;
      more = std::move(recovered).error();
    }
    if (!more && ends_quietly(more.error())) break;
    // Cancelled is no failure if no exception caused it: this task was interrupted, or a server says that the job has
    // ended.
    if (!more && (more.error().kind() != ErrorKind::kCancelled || more.error().cause())) co_return std::move(more).error();
    if (!more || !*more) break;
  }
  co_return end();
}

/// Logs the error, unless a NaN guard (a hook) has seen the loss, logged the error, and requested the stop already.
bool TrainingLoop::ends_quietly(const Error& error) {
  if (!options_.stops_quietly || error.kind() != ErrorKind::kNanLoss || error.cause()) return false;
  if (!context_.stop_requested()) env_.log().error(error.message());
  context_.request_stop();
  poisoned_ = true;
  return true;
}

bool TrainingLoop::is_recoverable(const Error& error) const {
  // Recovery only helps if a server was lost. Other errors may also be kUnavailable: those of a full disk, and those that
  // the user's code throws, which have a cause().
  return error.kind() == ErrorKind::kUnavailable && !error.cause() && options_.recover && options_.store->lost();
}

Task<Result<void>> TrainingLoop::recover(Error why) {
  set_phase(monitor::TaskPhase::kStarting);
  for (;;) {
    env_.log().warning("waiting for the parameter servers: " + why.message());
    SHOAL_CO_TRY(const cluster::Ready again, co_await options_.recover());
    if (again.global_step < context_.global_step()) {
      env_.sometimes("trainer.step_goes_back");
      env_.log().warning("global step goes back from " + std::to_string(context_.global_step()) + " to " +
                         std::to_string(again.global_step) +
                         ": a server lost what it held, so all hold an older state again");
    }
    enter(again);
    Result<void> made = co_await ready();
    if (made) set_phase(monitor::TaskPhase::kTraining);
    if (made || !is_recoverable(made.error())) co_return made;
    why = std::move(made).error();
  }
}

void TrainingLoop::enter(const cluster::Ready& ready) {
  context_.set_global_step(ready.global_step);
  if (options_.observer) options_.observer->stepped(int(options_.trainer_index), ready.global_step);
  job_stops_ = ready.stop;
}

bool TrainingLoop::reached_max() const {
  return options_.max_steps && context_.global_step() >= uint64_t(*options_.max_steps);
}

/// Returns the step whose checkpoint only finish() saves. In a job with servers this is max_steps, if set, since other
/// trainers may still push updates when this trainer reaches that step. In a job without servers: nothing.
std::optional<int64_t> TrainingLoop::last_of_several() const {
  return options_.recover ? options_.max_steps : std::nullopt;
}

bool TrainingLoop::may_go_on() const { return !context_.stop_requested() && !job_stops_ && !reached_max(); }

checkpoint::EndReason TrainingLoop::reason() const {
  if (reached_max()) return checkpoint::EndReason::kMaxSteps;
  if (env_.interrupted().stop_requested()) return checkpoint::EndReason::kInterrupted;
  return end_of_input_ ? checkpoint::EndReason::kEndOfInput : checkpoint::EndReason::kStopRequested;
}

Task<Result<void>> TrainingLoop::ready() {
  if (options_.metrics) options_.metrics->restart();
  input_watch_.restart();
  if (options_.saver) {
    SHOAL_CO_TRY(cluster::Positions own, co_await compute(env_, &TrainingLoop::input_positions, this));
    SHOAL_CO_TRY_VOID(co_await options_.saver->save_at_start(*options_.store, context_, std::move(own), last_of_several()));
  }
  co_return co_await compute(env_, &TrainingLoop::call_after_ready, this);
}

void TrainingLoop::set_phase(monitor::TaskPhase phase) {
  if (options_.meters) options_.meters->set_phase(phase);
}

void TrainingLoop::count_step(SteadyTime begun) {
  if (!options_.meters) return;
  options_.meters->step(
      {.global_step = context_.global_step(), .examples = step_examples_, .loss = step_.loss, .time = env_.now() - begun});
}

Task<Result<bool>> TrainingLoop::iterate() {
  const SteadyTime begun = options_.meters ? env_.now() : SteadyTime();
  SHOAL_CO_TRY(step_, co_await options_.store->begin(env_.interrupted()));
  if (step_.global_step > context_.global_step()) {  // Other trainers continued while this one saved a checkpoint.
    context_.set_global_step(step_.global_step);
    if (reached_max()) co_return false;
  }
  Result<void> computed = co_await compute_and_exchange();
  if (!computed) {
    if (computed.error().kind() != ErrorKind::kEndOfInput || computed.error().cause())
      co_return std::move(computed).error();
    end_of_input_ = true;
    co_return false;
  }
  if (fault_) co_return co_await leave_out_step();
  step_.save_follows = options_.store->hears_of_saves() && saves_after(step_.global_step + 1);
  SHOAL_CO_TRY(const cluster::Outcome outcome, co_await options_.store->commit(step_, scalars_));
  context_.set_global_step(outcome.global_step);
  count_step(begun);
  SHOAL_CO_TRY_VOID(co_await after_update(outcome));
  co_return may_go_on();
}

/// Ends a step that makes no update because of `fault_`, such as a loss of NaN. Hooks see this step with the global step
/// that its update would have reached. Returns the error of a hook that fails, or else `fault_`. A hook may also request a
/// stop.
Task<Result<bool>> TrainingLoop::leave_out_step() {
  env_.sometimes("trainer.step_left_out");
  if (options_.meters) options_.meters->loss.set(step_.loss);
  const auto see = [this]() -> Result<void> {
    options_.store->withdraw();
    return call_after_step();
  };
  const uint64_t before = context_.global_step();
  context_.set_global_step(std::max(before, step_after()));  // Not below `before`: a save may have found a later step.
  context_.count_iteration();
  Result<void> seen = co_await compute(env_, see);
  context_.set_global_step(before);
  SHOAL_CO_TRY_VOID(std::move(seen));
  co_return *fault_;
}

/// The global step after the current update, as far as that is known.
uint64_t TrainingLoop::step_after() const {
  return step_.global_step + (options_.model->spec().train_op->advances_global_step ? 1 : 0);
}

/// Whether a checkpoint is due after `step`. False for the last step of a cluster: finish() saves that, after all workers'
/// steps.
bool TrainingLoop::saves_after(uint64_t step) const {
  const bool last_follows = options_.recover && options_.max_steps && step >= uint64_t(*options_.max_steps);
  if (!options_.saver || last_follows) return false;
  return options_.saver->due(step, env_.now()) || options_.store->asked_to_save();
}

Task<Result<void>> TrainingLoop::after_update(const cluster::Outcome& outcome) {
  context_.count_iteration();
  if (options_.observer) options_.observer->stepped(int(options_.trainer_index), outcome.global_step);
  job_stops_ = outcome.stop;
  // True if servers were told with this push that a checkpoint follows, and the push has led to an update. A push may lead
  // to no update yet, since one update may need several pushes.
  const bool announced = step_.save_follows && outcome.global_step > step_.global_step;
  const bool may_save = announced || !options_.store->hears_of_saves();
  // After an interrupt no checkpoint is saved here: the job saves when it ends, and only if no task has failed.
  if (may_save && saves_after(outcome.global_step) && !env_.interrupted().stop_requested()) {
    SHOAL_CO_TRY(cluster::Positions own, co_await compute(env_, &TrainingLoop::input_positions, this));
    SHOAL_CO_TRY_VOID(co_await options_.saver->save_when_due(*options_.store, context_, std::move(own), last_of_several()));
  }
  SHOAL_CO_TRY_VOID(co_await compute(env_, &TrainingLoop::call_after_step, this));
  if (options_.check_place && env_.now() >= next_look_at_place_) SHOAL_CO_TRY_VOID(co_await look_at_place());
  if (options_.metrics && may_go_on()) co_return co_await options_.metrics->after_step(outcome.global_step);
  co_return Result<void>{};
}

/// Checks that model_dir still belongs to this run. If model_dir cannot be reached now, this is no error: the next save
/// checks again, and waits for the folder.
Task<Result<void>> TrainingLoop::look_at_place() {
  next_look_at_place_ = env_.after(options_.check_place_every);
  Result<void> placed = co_await compute(env_, options_.check_place);
  if (!placed && placed.error().kind() == ErrorKind::kUnavailable) co_return Result<void>{};
  co_return placed;
}

/// Computes the values that hooks get at the end. Only the leading task does this, since it may read all weights, also
/// those on servers. Runs before the last checkpoint is written and before the end of the job is announced, because
/// training has to continue if a server is lost meanwhile.
Task<Result<void>> TrainingLoop::compute_final_values() {
  if (options_.final_values.empty() || !context_.is_chief() || poisoned_ || context_.iterations() == 0) {
    co_return Result<void>{};
  }
  TrainedWeights known;
  SHOAL_CO_TRY(const std::shared_ptr<const TrainedWeights> weights,
               co_await keep_weights(env_, *options_.store, std::move(known)));
  const auto compute_them = [this, &weights]() -> Result<void> {
    std::list<backends::Piece> pieces;
    const auto bind = [&](const backends::Program& program) -> Result<std::vector<backends::Pieces>> {
      std::vector<backends::Pieces> bound;
      for (const auto& variable : program.info().variables) {
        const TensorView view = weights->values.at(variable.name).view();
        const int64_t rows = view.shape.rank() == 0 ? 1 : view.shape[0];
        pieces.push_back({view.data, 0, rows});
        bound.emplace_back(&pieces.back(), 1);
      }
      return bound;
    };
    const backends::StepKey key{options_.trainer_index, running_.batch_number};
    SHOAL_TRY(auto values, options_.model->compute_once(options_.final_values, replicas_[0].batch, bind, key));
    context_.set_final_values(std::move(values));
    env_.sometimes("trainer.final_values");
    return {};
  };
  co_return co_await compute(env_, compute_them);
}

Task<Result<void>> TrainingLoop::finish() {
  SHOAL_CO_TRY_VOID(co_await compute_final_values());
  if (options_.saver && poisoned_) {
    SHOAL_CO_TRY_VOID(co_await options_.saver->end_without_a_save(*options_.store, context_));
  } else if (options_.saver) {
    SHOAL_CO_TRY(cluster::Positions own, co_await compute(env_, &TrainingLoop::input_positions, this));
    SHOAL_CO_TRY_VOID(co_await options_.saver->save_at_end(*options_.store, context_, std::move(own)));
  }
  co_return co_await compute(env_, &TrainingLoop::call_end, this);
}

Task<Result<bool>> TrainingLoop::save_to_give_way() {
  if (!options_.saver) co_return true;
  SHOAL_CO_TRY(cluster::Positions own, co_await compute(env_, &TrainingLoop::input_positions, this));
  Result<void> saved = co_await options_.saver->save_if_moved(*options_.store, context_, std::move(own), last_of_several());
  // If the checkpoint was written, ignores the error of a server: a server that has to end after this checkpoint may end
  // before it replies.
  if (options_.saver->last_step() == context_.global_step()) co_return true;
  SHOAL_CO_TRY_VOID(std::move(saved));
  co_return !reached_max();
}

Result<std::string> TrainingLoop::input_position(size_t replica) {
  const TrainingInput& input = *options_.inputs[replica];
  if (input.first_batch) return input.first_position;
  auto position = input.iterator->save();
  if (position) return encode_position(*position);
  env_.log().warning_once("position", "the input's position cannot be saved: " + position.error().message() +
                                          "; after a restart the input begins anew");
  return std::string();
}

Result<cluster::Positions> TrainingLoop::input_positions() {
  cluster::Positions positions;
  for (size_t i = 0; i < options_.inputs.size(); ++i) {
    SHOAL_TRY(positions[int(options_.trainer_index + i)], input_position(i));
  }
  return positions;
}

/// Computes the step. Meanwhile the store sends gradients that are ready and receives weights that are missing.
Task<Result<void>> TrainingLoop::compute_and_exchange() {
  if (!options_.store->listener() && !step_.arrivals) co_return co_await compute(env_, &TrainingLoop::compute_step, this);
  TaskGroup exchange(env_);
  exchange.spawn(options_.store->exchange(exchange.token()));
  Result<void> computed = co_await compute(env_, &TrainingLoop::compute_step, this);
  while (computed && !running_.progress.done) {
    computed = co_await options_.store->arrival(running_.progress.missing);
    if (computed) computed = co_await compute(env_, &TrainingLoop::run_on, this);
  }
  exchange.request_stop();
  Result<void> ended = co_await exchange.join();
  static_cast<void>(ended);  // Ignores an error: commit(), which sends the other gradients, meets it again.
  co_return computed;
}

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
  if (auto fed = options_.model->feed(*program, batch, request_.feeds()); !fed)
    return in_batch(std::move(fed).error(), number, batch, *options_.inputs[replica]->iterator);
  const nn::TrainOp& train_op = *options_.model->spec().train_op;
  backends::UpdateApplier* applier = nullptr;
  if (scalar_values_.empty()) {
    nn::compute_scalars(train_op, step_.global_step, {}, scalars_);
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
    return in_batch(std::move(ran).error(), running_.batch_number, replicas_[running_.replica].batch,
                    *options_.inputs[running_.replica]->iterator);
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
    nn::compute_scalars(*options_.model->spec().train_op, step_.global_step, scalar_values_, scalars_);
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
