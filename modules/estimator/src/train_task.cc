#include "train_task.h"

#include <algorithm>

#include "evaluation.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/cluster/local_store.h"
#include "shoal/estimator/hooks.h"
#include "shoal/monitor/event_writer.h"
#include "shoal/monitor/progress.h"
#include "shoal/nn/initialisers.h"
#include "training_warnings.h"

namespace shoal {
namespace {

constexpr auto kLastWords = std::chrono::seconds(10);    // for what is said to servers when leaving
constexpr auto kInterruptGrace = std::chrono::seconds(5);  // for workers' last steps, when all shall end
constexpr auto kGoneBefore = std::chrono::seconds(60);   // for servers that an ended job's chief hopes to find
constexpr auto kShowUp = std::chrono::minutes(10);       // from the chief's start: a worker not seen by then is missing
constexpr auto kLostGrace = std::chrono::seconds(60);    // for a lost worker to come back, at the end of the chief's input
constexpr auto kOldMarkGrace = std::chrono::seconds(30); // a mark of the run before: a starting chief removes it
constexpr auto kNoteEvery = std::chrono::seconds(10);

/// The kinds that a launcher does not retry (CONTRACT FA-9, FA-10).
bool is_permanent(const Error& error) {
  const int status = exit_status(error.kind());
  return status >= 2 && status <= 4;
}

std::string numerics_text(const backends::Numerics& numerics) {
  return numerics.backend + " " + numerics.version + ", " + numerics.isa + ", " + std::to_string(numerics.threads) +
         (numerics.threads == 1 ? " thread" : " threads");
}

/// Shows the chief's (or local process's) progress; measures the rate that the task reports.
class ProgressHook final : public Hook {
 public:
  ProgressHook(std::shared_ptr<monitor::ProgressDisplay> display, std::optional<int64_t> max_steps)
      : display_(std::move(display)), max_steps_(max_steps) {}
  void after_ready(RunContext& run) override {
    if (!started_) started_ = run.now();
  }
  void after_step(RunContext& run, const StepValues& values) override {
    examples_ += values.examples();
    ended_ = run.now();
    if (!display_) return;
    display_->update(run.now(), {.global_step = int64_t(run.global_step()), .max_steps = max_steps_, .examples = examples_,
                                 .loss = values.loss(), .note = {}});
  }
  int64_t examples() const { return examples_; }
  double seconds() const { return started_ && ended_ > *started_ ? to_seconds(ended_ - *started_) : 0; }

 private:
  std::shared_ptr<monitor::ProgressDisplay> display_;
  std::optional<int64_t> max_steps_;
  std::optional<SteadyTime> started_;
  SteadyTime ended_{};
  int64_t examples_ = 0;
};

class TrainTask {
 public:
  TrainTask(Environment& env, const TrainRequest& request)
      : env_(env), request_(request), config_(request.estimator.config()), context_(env) {}
  Task<Result<TrainOutcome>> run();

 private:
  bool leads() const { return request_.role != TrainRole::kWorker; }
  bool distributed() const { return request_.role != TrainRole::kLocal && config_.num_ps_replicas() > 0; }

  Task<Result<void>> on_compute(Result<void> (TrainTask::*method)());
  // On the compute thread, in this order:
  Result<void> look_at_folder();
  Result<void> open_training_input();
  Result<void> build_model();
  Result<void> make_hooks();
  Result<void> plan_store();
  Result<void> reopen_checkpoint();
  Result<void> write_description();
  Result<void> finish_folder();

  Result<bool> learn_types_elsewhere();
  Result<std::vector<cluster::VariableSpec>> variable_specs() const;
  Result<void> bind_program();
  Result<void> move_input(const std::optional<std::string>& position);
  Result<void> begin_input_anew();
  Result<void> remember_end();

  Task<Result<cluster::Ready>> make_ready();
  Task<Result<cluster::Ready>> recover();
  LoopOptions loop_options();
  Task<Result<TrainOutcome>> run_steps();
  Task<Result<TrainOutcome>> train();
  Task<Result<void>> close(TrainingLoop& loop);
  Task<Result<void>> wait_for_workers();
  std::optional<Duration> patience_for(const cluster::ServerStatus& status, bool patient) const;
  bool job_has_ended();
  Task<Result<void>> announce_end();
  Task<Result<void>> announce_end_alone(Duration patience);
  Task<void> give_up();
  Task<Result<TrainOutcome>> nothing_to_do();
  TrainOutcome outcome() const;

  Environment& env_;
  const TrainRequest& request_;
  const RunConfig& config_;
  RunContext context_;
  std::unique_ptr<CheckpointSource> source_;
  std::optional<int64_t> max_steps_;
  bool finished_before_ = false;
  std::optional<data::Dataset> dataset_;
  TrainingInput input_;
  std::string start_position_;  // of the input before anything was drawn; empty: it cannot tell
  std::optional<InputTypes> types_;
  std::unique_ptr<BuiltModel> model_;
  std::vector<std::shared_ptr<Hook>> hooks_;
  std::vector<std::string> fetch_names_;
  std::shared_ptr<ProgressHook> progress_;
  std::unique_ptr<monitor::EventWriter> events_;
  std::unique_ptr<CheckpointSaver> saver_;
  std::unique_ptr<cluster::Store> store_;
  cluster::RemoteStore* remote_ = nullptr;
  LoopEnd end_;
  std::optional<checkpoint::EndMark> mark_at_start_;
  SteadyTime started_{};
};

Task<Result<void>> TrainTask::on_compute(Result<void> (TrainTask::*method)()) {
  Result<void> outcome;
  Work work = [this, method, &outcome] { outcome = (this->*method)(); };
  SHOAL_CO_TRY_VOID(co_await env_.offload(std::move(work)));
  co_return outcome;
}

/// A chief that fails for good before it reached the servers sends them home too, if they are there.
Task<Result<TrainOutcome>> TrainTask::run() {
  started_ = env_.now();
  Result<TrainOutcome> outcome = co_await run_steps();
  if (!outcome && is_permanent(outcome.error()) && distributed() && leads() && !remote_) {
    Result<void> told = co_await announce_end_alone(kLastWords);
    static_cast<void>(told);  // the failure itself is what the user has to see
  }
  co_return outcome;
}

Task<Result<TrainOutcome>> TrainTask::run_steps() {
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::look_at_folder));
  if (finished_before_) co_return co_await nothing_to_do();
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::open_training_input));
  if (!types_) {
    env_.log().warning("training: the input is empty or wrongly set up; no step was made");
    end_.reason = checkpoint::EndReason::kEndOfInput;
    if (distributed() && leads()) {  // nobody can train: send them home
      SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::remember_end));
      SHOAL_CO_TRY_VOID(co_await announce_end_alone(seconds_to_duration(config_.ready_timeout_secs())));
    }
    co_return outcome();
  }
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::build_model));
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::make_hooks));
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::plan_store));
  co_return co_await train();
}

/// What model_dir says before anything is built: the newest checkpoint, and whether there is anything to do.
Result<void> TrainTask::look_at_folder() {
  const std::string& folder = request_.estimator.model_dir();
  max_steps_ = request_.max_steps;
  if (auto mark = checkpoint::read_end_mark(env_.storage(), folder)) mark_at_start_ = *mark;
  if (!leads()) {
    return {};
  }
  Result<void> made = env_.storage().make_folders(folder);
  if (!made) return failed_precondition("model_dir " + folder + " cannot be created or written: " + made.error().message());
  Result<void> unmarked = checkpoint::remove_end_mark(env_.storage(), folder);
  if (!unmarked) return failed_precondition("model_dir " + folder + " cannot be written: " + unmarked.error().message());
  SHOAL_TRY_VOID(reopen_checkpoint());
  const uint64_t step = source_ ? source_->info().global_step : 0;
  if (source_) env_.log().info("restored from checkpoint " + source_->prefix() + " at global step " + std::to_string(step));
  if (request_.steps) max_steps_ = int64_t(step) + *request_.steps;
  finished_before_ = max_steps_ && step >= uint64_t(*max_steps_);
  return {};
}

Result<void> TrainTask::reopen_checkpoint() {
  const auto warn = [this](const std::string& sentence) { env_.log().warning(sentence); };
  SHOAL_TRY(auto reader, checkpoint::latest_intact(env_.storage(), request_.estimator.model_dir(), warn));
  source_ = reader ? std::make_unique<CheckpointSource>(std::move(reader)) : nullptr;
  return {};
}

Result<void> TrainTask::open_training_input() {
  SHOAL_TRY(OpenedInput opened, open_input(env_, request_.estimator, request_.input_fn, Mode::kTrain));
  dataset_ = std::move(opened.dataset);
  input_.iterator = std::move(opened.iterator);
  if (leads()) warn_about_input(env_.log(), *dataset_, config_, max_steps_.has_value());
  if (auto position = input_.iterator->save()) start_position_ = input_.first_position = encode_position(*position);
  data::Batch batch;
  SHOAL_TRY(const bool any, input_.iterator->next(batch));
  if (!any) {
    SHOAL_TRY(const bool learned, learn_types_elsewhere());
    static_cast<void>(learned);
    return {};
  }
  SHOAL_TRY(types_, input_types(batch));
  input_.first_batch = std::move(batch);
  return {};
}

Result<bool> TrainTask::learn_types_elsewhere() {
  if (!request_.types_from) return false;
  SHOAL_TRY(OpenedInput other, open_input(env_, request_.estimator, *request_.types_from, Mode::kEval));
  data::Batch batch;
  SHOAL_TRY(const bool any, other.iterator->next(batch));
  if (any) {
    SHOAL_TRY(types_, input_types(batch));
  }
  return any;
}

Result<void> TrainTask::build_model() {
  SHOAL_TRY(model_, BuiltModel::build({request_.estimator.model_fn(), Mode::kTrain, request_.estimator.params(), config_,
                                       graph_seed(env_, config_)}, *types_));
  SHOAL_TRY(auto backend, make_configured_backend(config_));
  model_->use_backend(std::move(backend), config_.compute_threads(usable_cores()));
  return write_description();
}

Result<void> TrainTask::write_description() {
  if (!leads() || !config_.save_model_description()) return {};
  return env_.storage().write_atomically(join_path(request_.estimator.model_dir(), "graph.json"), model_->graph().to_json());
}

/// The hooks of this task in the order of CONTRACT HK-6, and what they fetch.
Result<void> TrainTask::make_hooks() {
  EstimatorSpec& spec = model_->spec();
  progress_ = std::make_shared<ProgressHook>(leads() && config_.host() ? config_.host()->progress : nullptr, max_steps_);
  if (leads()) {
    if (config_.save_summary_steps().value_or(0) > 0) {
      SHOAL_TRY(events_, monitor::EventWriter::open(env_, request_.estimator.model_dir()));
    }
    hooks_.insert(hooks_.end(), spec.training_chief_hooks.begin(), spec.training_chief_hooks.end());
    if (config_.log_step_count_steps()) hooks_.push_back(step_counter(*config_.log_step_count_steps()));
    if (events_) hooks_.push_back(summary_saver(*config_.save_summary_steps()));
  }
  hooks_.push_back(progress_);
  hooks_.insert(hooks_.end(), request_.hooks.begin(), request_.hooks.end());
  if (max_steps_) hooks_.push_back(stop_at_step({.num_steps = {}, .last_step = max_steps_}));
  hooks_.push_back(nan_guard());
  if (config_.log_step_count_steps()) hooks_.push_back(loss_logger(*config_.log_step_count_steps()));
  hooks_.insert(hooks_.end(), spec.training_hooks.begin(), spec.training_hooks.end());
  context_.set_task(leads(), request_.estimator.model_dir(), events_.get());

  HookSetup setup(model_->graph(), spec.loss);
  for (const auto& [name, value] : spec.summaries) setup.fetch("summary/" + name, value);
  for (const auto& hook : hooks_) SHOAL_TRY_VOID(call_user("hook begin", [&] { hook->begin(setup); }));
  std::vector<Value> sometimes, updates;
  for (const auto& [name, value] : setup.fetches()) {
    sometimes.push_back(value);
    fetch_names_.push_back(name);
  }
  for (const nn::VariableUpdate& update : spec.train_op->updates) updates.push_back(update.update);
  model_->set_values({spec.loss}, std::move(sometimes), std::move(updates));
  return {};
}

Result<std::vector<cluster::VariableSpec>> TrainTask::variable_specs() const {
  std::vector<cluster::VariableSpec> specs;
  const Graph& graph = model_->graph();
  for (const Variable& variable : graph.variables()) {
    specs.push_back({variable.name, variable.dtype, variable.shape, variable.initialiser,
                     nn::variable_key(graph.seed(), variable.name), {}});
  }
  for (const nn::VariableUpdate& update : model_->spec().train_op->updates) {
    const auto found = std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.name == update.variable; });
    if (found == specs.end()) return invalid_argument("train_op updates " + update.variable + ", which is no variable");
    found->rule = update.rule;
  }
  return specs;
}

Result<void> TrainTask::plan_store() {
  SHOAL_TRY(const std::vector<cluster::VariableSpec> specs, variable_specs());
  const int scalars = int(model_->spec().train_op->scalars.size());
  const bool advances = model_->spec().train_op->advances_global_step;
  if (distributed() && !advances) {
    return failed_precondition("a train_op that does not advance the global step works in local mode only: on parameter "
                               "servers every update is a step");
  }
  const int servers = distributed() ? config_.num_ps_replicas() : 1;
  cluster::Placement placement;
  if (config_.placement()) {
    placement = [this](std::string_view name, const Shape& shape, int count) {
      return int(config_.placement()({.variable = name, .dtype = DType::kFloat32, .shape = shape, .num_ps = count}));
    };
  }
  SHOAL_TRY(cluster::ShardPlan plan, cluster::plan_shards(specs, servers, scalars, distributed() ? placement : nullptr));
  const std::string numerics = numerics_text(model_->numerics());
  const std::string fingerprint = std::to_string(model_->graph().fingerprint());
  if (distributed()) {
    cluster::RemoteStoreOptions options{.identity = task_identity(env_, config_), .servers = server_endpoints(config_),
                                        .link = link_options(config_),
                                        .ready_timeout = seconds_to_duration(config_.ready_timeout_secs()),
                                        .job_ended = {}};
    options.identity.fingerprint = model_->graph().fingerprint();
    options.identity.numerics = numerics;
    if (!leads()) {
      options.job_ended = [this] { return job_has_ended(); };
    }
    auto remote = cluster::make_remote_store(env_, std::move(plan), std::move(options));
    remote_ = remote.get();
    store_ = std::move(remote);
  } else {
    store_ = cluster::make_local_store(env_, std::move(plan), {.advances_global_step = advances});
  }
  if (leads() && config_.saves_checkpoints()) {
    saver_ = std::make_unique<CheckpointSaver>(env_, config_, SaverOptions{request_.estimator.model_dir(), numerics,
                                                                          fingerprint, request_.listeners});
  }
  return bind_program();
}

/// The program's variables and updates, in its order, to the places that the plan gives them.
Result<void> TrainTask::bind_program() {
  int64_t batch = 1;
  if (input_.first_batch) {
    SHOAL_TRY(batch, batch_size(*input_.first_batch));
  }
  SHOAL_TRY(const BoundProgram* program, model_->program(batch, false));
  std::vector<std::string> variables, updates;
  for (const auto& variable : program->program->info().variables) variables.push_back(variable.name);
  for (const nn::VariableUpdate& update : model_->spec().train_op->updates) updates.push_back(update.variable);
  return store_->bind(variables, updates);
}

Task<Result<cluster::Ready>> TrainTask::make_ready() {
  const Deadline deadline = env_.after(seconds_to_duration(config_.ready_timeout_secs()));
  // Named first: g++ 12 destroys twice what a co_await in a conditional expression gives.
  Task<Result<cluster::Ready>> asked = leads() ? store_->prepare(source_.get(), deadline) : store_->attach(deadline);
  Result<cluster::Ready> ready = co_await std::move(asked);
  if (!ready) co_return ready;
  if (ready->attached && leads()) {
    env_.log().info("the servers still hold the model at global step " + std::to_string(ready->global_step) +
                    "; training goes on from there");
  }
  Result<void> moved;
  const std::optional<std::string> position = ready->position;
  Work move = [this, &position, &moved] { moved = move_input(position); };
  SHOAL_CO_TRY_VOID(co_await env_.offload(std::move(move)));
  SHOAL_CO_TRY_VOID(std::move(moved));
  co_return ready;
}

/// The input continues where the job says that this trainer was. Without a position no batch of this trainer counts (yet,
/// or any more), so it begins at the start. An input that cannot tell positions stays where it is.
Result<void> TrainTask::move_input(const std::optional<std::string>& position) {
  const std::string& target = position ? *position : start_position_;
  if (target.empty() || (input_.first_batch && target == input_.first_position)) return {};
  auto decoded = decode_position(target);
  Result<void> restored = decoded ? input_.iterator->restore(*decoded) : Result<void>(decoded.error());
  input_.first_batch.reset();
  if (!restored) {
    env_.log().warning("the input begins anew: " + restored.error().message());
    return begin_input_anew();
  }
  if (!request_.new_pass_at_end) return {};
  data::Batch batch;
  SHOAL_TRY(const bool any, input_.iterator->next(batch));
  if (!any) return begin_input_anew();
  input_.first_batch = std::move(batch);
  input_.first_position = target;
  return {};
}

Result<void> TrainTask::begin_input_anew() {
  SHOAL_TRY(input_.iterator, dataset_->iterate(env_, {.seed = config_.random_seed(),
                                                      .trainer_index = config_.trainer_index(),
                                                      .num_trainers = config_.num_trainers()}));
  return {};
}

Task<Result<cluster::Ready>> TrainTask::recover() {
  const Deadline deadline = env_.after(seconds_to_duration(config_.ready_timeout_secs()));
  Duration back_off = std::chrono::milliseconds(50);
  for (;;) {
    if (leads()) SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::reopen_checkpoint));
    auto ready = co_await make_ready();
    if (ready || ready.error().kind() != ErrorKind::kUnavailable || !store_->lost()) co_return ready;
    if (env_.now() >= deadline) {
      co_return deadline_exceeded("waiting for the parameter servers: " + ready.error().message());
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(back_off, env_.interrupted()));
    back_off = std::min<Duration>(back_off * 2, std::chrono::seconds(1));
  }
}

LoopOptions TrainTask::loop_options() {
  LoopOptions options{.model = model_.get(), .store = store_.get(), .input = &input_,
                      .fetch_names = fetch_names_, .hooks = hooks_, .saver = saver_.get(), .max_steps = max_steps_,
                      .trainer_index = uint64_t(config_.trainer_index()), .recover = nullptr};
  if (distributed()) options.recover = [this] { return recover(); };
  return options;
}

Task<Result<TrainOutcome>> TrainTask::train() {
  auto ready = co_await recover();
  if (!ready && ready.error().kind() == ErrorKind::kCancelled && !env_.interrupted().stop_requested()) {
    env_.log().info("training finished before this task arrived; nothing to do");
    co_return outcome();
  }
  if (!ready) {
    if (remote_ && is_permanent(ready.error())) co_await give_up();
    co_return std::move(ready).error();
  }
  TrainingLoop loop(env_, context_, loop_options());
  auto ended = co_await loop.run(*ready);
  for (;;) {
    if (!ended) {
      if (remote_ && is_permanent(ended.error())) co_await give_up();
      co_return std::move(ended).error();
    }
    end_ = *ended;
    Result<void> closed = co_await close(loop);
    if (closed) break;
    if (!loop.is_recoverable(closed.error()) || env_.interrupted().stop_requested()) co_return std::move(closed).error();
    ended = co_await loop.resume(std::move(closed).error());
  }
  end_.global_step = context_.global_step();
  // The mark first: a chief that is killed in between finds the servers still there when it comes back.
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::finish_folder));
  if (remote_) SHOAL_CO_TRY_VOID(co_await announce_end());
  env_.log().info("training finished at global step " + std::to_string(end_.global_step) + " (" +
                  std::string(checkpoint::to_string(end_.reason)) + ")");
  co_return outcome();
}

/// What comes after the last step while the servers are still needed: a server lost now takes the job back into training.
Task<Result<void>> TrainTask::close(TrainingLoop& loop) {
  if (end_.iterations == 0 && end_.reason == checkpoint::EndReason::kEndOfInput) {
    env_.log().warning("training: the input is empty or wrongly set up; no step was made");
  }
  if (remote_ && leads()) SHOAL_CO_TRY_VOID(co_await wait_for_workers());
  co_return co_await loop.finish();
}

Result<void> TrainTask::finish_folder() {
  if (events_) SHOAL_TRY_VOID(events_->close());
  return remember_end();
}

Result<void> TrainTask::remember_end() {
  if (!leads() || !request_.write_end_mark) return {};
  return checkpoint::write_end_mark(env_.storage(), request_.estimator.model_dir(),
                                    {.global_step = int64_t(end_.global_step),
                                     .checkpoint = saver_ ? saver_->last_name() : std::string(),
                                     .reason = end_.reason,
                                     .wall_time = env_.wall_now()});
}

/// Asked by a worker while servers cannot be reached (CONTRACT WO-4). A mark that was there from the start may be of the run
/// before, whose chief is about to remove it.
bool TrainTask::job_has_ended() {
  const auto mark = checkpoint::read_end_mark(env_.storage(), request_.estimator.model_dir());
  if (!mark || !*mark) return false;
  if (!(mark_at_start_ && **mark == *mark_at_start_)) return true;
  if (max_steps_ && (*mark)->global_step >= *max_steps_) return true;
  return env_.now() - started_ >= kOldMarkGrace;
}

/// How long the chief waits for workers that `status` shows while nothing happens; nothing: there is nobody to wait for.
/// With its own input at an end (`patient`) it also waits for those who are on their way (CONTRACT CH-8, OE-2).
std::optional<Duration> TrainTask::patience_for(const cluster::ServerStatus& status, bool patient) const {
  const Duration ready_timeout = seconds_to_duration(config_.ready_timeout_secs());
  std::optional<Duration> patience;
  const auto at_least = [&patience](Duration duration) { patience = std::max(patience.value_or(Duration{}), duration); };
  for (const cluster::TrainerStatus& trainer : status.trainers) {
    if (trainer.index == 0 || trainer.done) continue;
    if (trainer.connected) at_least(patient ? ready_timeout : env_.interrupted().stop_requested() ? kInterruptGrace : kLastWords);
    if (!trainer.connected && patient) at_least(std::min<Duration>(ready_timeout, kLostGrace));
  }
  const bool may_still_come = patient && env_.now() - started_ < std::min<Duration>(ready_timeout, kShowUp);
  for (const auto& worker : config_.cluster().nodes(cluster::kWorkerRole)) {
    const bool seen = std::any_of(status.trainers.begin(), status.trainers.end(),
                                  [&](const cluster::TrainerStatus& trainer) { return trainer.index == worker.index + 1; });
    if (!seen && may_still_come) at_least(ready_timeout);
  }
  return patience;
}

/// The chief stays until the workers are done, so that the last checkpoint has their work (CONTRACT CH-8): with its input at
/// an end for as long as they make progress, else for the steps that are under way.
Task<Result<void>> TrainTask::wait_for_workers() {
  bool patient = end_.reason == checkpoint::EndReason::kEndOfInput;
  if (!patient) SHOAL_CO_TRY_VOID(co_await remote_->request_stop(env_.after(kLastWords)));
  std::string seen;
  SteadyTime changed_at = env_.now(), next_note = env_.after(kNoteEvery);
  for (;;) {
    if (patient && env_.interrupted().stop_requested()) {
      patient = false;
      end_.reason = checkpoint::EndReason::kInterrupted;
      SHOAL_CO_TRY_VOID(co_await remote_->request_stop(env_.after(kLastWords)));
    }
    SHOAL_CO_TRY(const cluster::ServerStatus status, co_await remote_->status(env_.after(kLastWords)));
    const std::optional<Duration> patience = patience_for(status, patient);
    if (!patience) break;
    if (std::string now = cluster::to_json(status); now != seen) {
      seen = std::move(now);
      changed_at = env_.now();
      context_.set_global_step(status.global_step);
    }
    if (env_.now() - changed_at >= *patience) {
      env_.log().warning("some workers made no progress for " + std::to_string(int64_t(to_seconds(*patience))) +
                         " s; the job ends without them");
      break;
    }
    if (env_.now() >= next_note) {
      env_.log().info("waiting for the workers to end");
      next_note = env_.after(kNoteEvery);
    }
    if (patient && saver_ && saver_->due(status.global_step, env_.now())) {
      SHOAL_CO_TRY_VOID(co_await saver_->save(*store_, context_, {}));
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(std::chrono::milliseconds(20)));
  }
  co_return Result<void>{};
}

Task<Result<void>> TrainTask::announce_end() {
  const Deadline deadline = env_.after(kLastWords);
  if (leads()) {
    Result<void> reached = co_await remote_->connect(deadline);  // a connection may have broken meanwhile
    Result<void> told = co_await remote_->finish(deadline);
    if (!reached) told = std::move(reached);
    if (!told) env_.log().warning("a server was not told that the job has ended: " + told.error().message());
  }
  Result<void> left = co_await remote_->leave(deadline);
  static_cast<void>(left);  // the job is over for us either way
  co_return Result<void>{};
}

/// By a chief that has nothing to train, and so no plan: who waits for it may go.
Task<Result<void>> TrainTask::announce_end_alone(Duration patience) {
  cluster::ShardPlan plan;
  plan.shards.resize(size_t(config_.num_ps_replicas()), cluster::ShardSpec{.segments = {}, .arena_bytes = kBufferAlignment});
  cluster::RemoteStoreOptions options{.identity = task_identity(env_, config_), .servers = server_endpoints(config_),
                                      .link = link_options(config_), .ready_timeout = patience, .job_ended = {}};
  auto remote = cluster::make_remote_store(env_, std::move(plan), std::move(options));
  remote_ = remote.get();
  store_ = std::move(remote);
  // Servers that cannot be reached may have gone home before: this chief's predecessor told them and was killed then.
  Result<void> reached = co_await remote_->connect(env_.after(patience));
  static_cast<void>(reached);  // announce_end() tries once more, and warns
  co_return co_await announce_end();
}

/// A task that fails for good: the same would happen to the next one. A worker says that nobody need wait for it. A chief
/// leaves no mark, but sends everyone home: servers and workers would otherwise wait for a chief that cannot come.
Task<void> TrainTask::give_up() {
  if (!leads()) {
    Result<void> left = co_await remote_->leave(env_.after(kLastWords));
    static_cast<void>(left);  // it fails either way
    co_return;
  }
  Result<void> told = co_await remote_->finish(env_.after(kLastWords));
  if (!told) env_.log().warning("a server was not told that the job has failed: " + told.error().message());
}

/// The checkpoint is already there: the chief only tells the servers.
Task<Result<TrainOutcome>> TrainTask::nothing_to_do() {
  const uint64_t step = source_ ? source_->info().global_step : 0;
  env_.log().info("training finished before: the checkpoint is at global step " + std::to_string(step) +
                  ", max_steps is " + std::to_string(*max_steps_) + "; there is nothing to do");
  end_ = {step, 0, checkpoint::EndReason::kMaxSteps};
  if (request_.write_end_mark && source_) {
    Result<void> marked;
    Work mark = [&] {
      const std::string& prefix = source_->prefix();
      marked = checkpoint::write_end_mark(env_.storage(), request_.estimator.model_dir(),
                                          {.global_step = int64_t(step), .checkpoint = prefix.substr(prefix.rfind('/') + 1),
                                           .reason = end_.reason, .wall_time = env_.wall_now()});
    };
    SHOAL_CO_TRY_VOID(co_await env_.offload(std::move(mark)));
    SHOAL_CO_TRY_VOID(std::move(marked));
  }
  // With a mark there from the start, the servers were probably told before, and are gone.
  const Duration patience = mark_at_start_ ? Duration(kGoneBefore) : seconds_to_duration(config_.ready_timeout_secs());
  if (distributed()) SHOAL_CO_TRY_VOID(co_await announce_end_alone(patience));
  TrainOutcome result = outcome();
  result.nothing_to_do = true;
  co_return result;
}

TrainOutcome TrainTask::outcome() const {
  return {.nothing_to_do = false,
          .global_step = end_.global_step,
          .iterations = end_.iterations,
          .reason = end_.reason,
          .last_checkpoint = saver_ ? saver_->last_name() : std::string(),
          .seconds = progress_ ? progress_->seconds() : 0,
          .examples = progress_ ? progress_->examples() : 0};
}

}  // namespace

Task<Result<TrainOutcome>> train_task(Environment& env, const TrainRequest& request) {
  TrainTask task(env, request);
  co_return co_await task.run();
}

}  // namespace shoal
