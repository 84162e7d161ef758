// SPDX-License-Identifier: Apache-2.0
#include "train/training_loop.h"

#include <algorithm>
#include <list>
#include <map>
#include <utility>

#include "shoal/base/compute.h"
#include "shoal/monitor/event_writer.h"
#include "train/keep_weights.h"

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
    std::map<std::string, int> of_name;
    for (const nn::StepScalar& scalar : train_op->scalars) {
      const int number = ++of_name[scalar.name];
      values_.scalars().emplace_back(number == 1 ? scalar.name : scalar.name + "_" + std::to_string(number), 0);
    }
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

}  // namespace shoal
