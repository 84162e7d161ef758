// What a training task sets up before its first step: the folder, the input, the model, the hooks, the store.
#include <algorithm>

#include "folder_lock.h"
#include "temporary_files.h"
#include "shoal/base/durable_folder.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/run_count.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/local_store.h"
#include "shoal/cluster/model_identity.h"
#include "shoal/estimator/hooks.h"
#include "shoal/estimator/profiler.h"
#include "shoal/nn/initialisers.h"
#include "train_task_steps.h"
#include "training_warnings.h"

namespace shoal {
namespace {

std::string numerics_text(const backends::Numerics& numerics) {
  std::string text = numerics.backend + " " + numerics.version + ", " + numerics.isa + ", " +
                     std::to_string(numerics.threads) + (numerics.threads == 1 ? " thread" : " threads");
  if (numerics.compute_dtype != DType::kFloat32) text.append(", ").append(to_string(numerics.compute_dtype));
  return text;
}

/// For good (CONTRACT FA-7), unless it is what the storage itself calls passing, as an input/output error of a file server:
/// the chief of a job that was under way does not give it up for that.
Error unusable(const std::string& folder, std::string_view what, const Error& why) {
  const ErrorKind kind = why.kind() == ErrorKind::kUnavailable ? why.kind() : ErrorKind::kFailedPrecondition;
  return Error(kind, "model_dir " + folder + " cannot be " + std::string(what) + ": " + why.message());
}

/// The name of the newest checkpoint, without a look at it; empty: there is none, or the list cannot be read.
std::string listed_newest(Storage& storage, const std::string& folder) {
  const Result<std::optional<checkpoint::PointerFile>> list = checkpoint::read_pointer(storage, folder);
  return list && *list ? (*list)->newest : std::string();
}

bool listed_as_finished(Storage& storage, const std::string& folder, const std::optional<int64_t>& max_steps) {
  return max_steps && checkpoint::step_of(listed_newest(storage, folder)) >= *max_steps;
}

}  // namespace

/// What model_dir says before anything is built: the newest checkpoint, and whether there is anything to do.
Result<void> TrainTask::look_at_folder() {
  const std::string& folder = request_.estimator.model_dir();
  max_steps_ = request_.max_steps;
  if (!leads()) {
    static_cast<void>(end_of_job_.look());  // what is there already is of an earlier run; the rest is asked for later
    return {};
  }
  if (auto mark = checkpoint::read_end_mark(env_.storage(), folder)) mark_at_start_ = *mark;
  Result<void> made = make_durable_folder(env_.storage(), folder);
  if (!made) return unusable(folder, "created or written", made.error());
  SHOAL_TRY(lock_, lock_model_dir(env_, folder));
  // Before checkpoints are read, which takes its time. A mark that will stand, since there is nothing to train, is left.
  if (!listed_as_finished(env_.storage(), folder, max_steps_)) SHOAL_TRY_VOID(begin_run());
  remove_temporary_files(env_, folder, {"training_finished.tmp-", "training_run.tmp-", "graph.json.tmp-"});
  SHOAL_TRY_VOID(reopen_checkpoint());
  const uint64_t step = source_ ? source_->info().global_step : 0;
  if (source_) env_.log().info("restored from checkpoint " + source_->prefix() + " at global step " + std::to_string(step));
  if (request_.steps) max_steps_ = int64_t(step) + *request_.steps;
  // What is there but not listed as the newest (a list that was lost, a newer one that is damaged) nobody else finds: it is
  // saved once more.
  finished_before_ = max_steps_ && step >= uint64_t(*max_steps_) &&
                     (!source_ || last_checkpoint() == listed_newest(env_.storage(), folder));
  if (!finished_before_) return begin_run();  // the newest may have been damaged
  if (!run_begun_) {
    SHOAL_TRY(run_, checkpoint::newest_run(env_.storage(), folder, warnings()));
  }
  return {};
}

/// From here on it is another run, with a number of its own; the mark of the one before goes.
Result<void> TrainTask::begin_run() {
  if (std::exchange(run_begun_, true)) return {};
  const std::string& folder = request_.estimator.model_dir();
  Result<int64_t> run = checkpoint::begin_run(env_.storage(), folder, warnings());
  if (!run) return unusable(folder, "written", run.error());
  run_ = *run;
  return {};
}

checkpoint::WarningSink TrainTask::warnings() {
  return [this](const std::string& sentence) { env_.log().warning(sentence); };
}

Result<void> TrainTask::reopen_checkpoint() {
  SHOAL_TRY(auto reader, checkpoint::latest_intact(env_.storage(), request_.estimator.model_dir(), warnings()));
  source_ = reader ? std::make_unique<CheckpointSource>(std::move(reader)) : nullptr;
  source_is_fresh_ = true;
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
  model_->use_backend(std::move(backend), config_.compute_threads(env_.process().usable_cores), config_.compute_dtype());
  model_->log_plans_to(&env_.log());
  env_.log().info(config_.compute_threads_text(env_.process()));
  return write_description();
}

Result<void> TrainTask::write_description() {
  if (!leads() || !config_.save_model_description()) return {};
  return env_.storage().write_atomically(join_path(request_.estimator.model_dir(), "graph.json"), model_->graph().to_json());
}

/// The hooks of this task in the order of CONTRACT HK-6, and what they fetch.
Result<void> TrainTask::make_hooks() {
  EstimatorSpec& spec = model_->spec();
  progress_ = std::make_shared<ProgressHook>(leads() ? host_of(config_).progress : nullptr, max_steps_);
  if (leads()) {
    if (config_.save_summary_steps().value_or(0) > 0) {
      SHOAL_TRY(events_, monitor::EventWriter::open(env_, request_.estimator.model_dir()));
    }
    hooks_.insert(hooks_.end(), spec.training_chief_hooks.begin(), spec.training_chief_hooks.end());
    if (config_.log_step_count_steps()) hooks_.push_back(step_counter(*config_.log_step_count_steps()));
    if (events_) hooks_.push_back(summary_saver(*config_.save_summary_steps()));
  }
  hooks_.push_back(progress_);
  if (leads() && host_of(config_).profile_steps) {
    hooks_.push_back(profiler({.steps = *host_of(config_).profile_steps}));
  }
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
  std::vector<std::string> update_variables;
  for (const auto& [name, value] : setup.fetches()) {
    sometimes.push_back(value);
    fetch_names_.push_back(name);
  }
  std::vector<Value> always{spec.loss};
  for (const Value& value : nn::scalar_values(*spec.train_op)) always.push_back(value);
  for (const nn::VariableUpdate& update : spec.train_op->updates) {
    for (const nn::RowUpdate& part : update.rows) always.insert(always.end(), {part.ids, part.gradients});
    if (!update.rows.empty()) continue;
    updates.push_back(update.update);
    update_variables.push_back(update.variable);
  }
  model_->set_values(std::move(always), std::move(sometimes), std::move(updates), std::move(update_variables));
  return {};
}

Result<std::vector<cluster::VariableSpec>> TrainTask::variable_specs() const {
  std::vector<cluster::VariableSpec> specs;
  const Graph& graph = model_->graph();
  for (const Variable& variable : graph.variables()) {
    specs.push_back({variable.name,
                     variable.dtype,
                     variable.shape,
                     variable.initialiser,
                     nn::variable_key(graph.seed(), variable.name),
                     {},
                     false});
  }
  for (const nn::VariableUpdate& update : model_->spec().train_op->updates) {
    const auto found = std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.name == update.variable; });
    if (found == specs.end()) return invalid_argument("train_op updates " + update.variable + ", which is no variable");
    found->rule = update.rule;
    found->lazy_rows = !update.rows.empty();
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
  const uint64_t part_bytes_max = distributed() ? cluster::kPartBytesMax : cluster::kOnePart;
  SHOAL_TRY(cluster::ShardPlan plan,
            cluster::plan_shards(specs, servers, scalars, distributed() ? placement : nullptr, part_bytes_max));
  const std::string numerics = numerics_text(model_->numerics());
  const std::string fingerprint = std::to_string(model_->graph().fingerprint());
  if (distributed()) {
    SHOAL_TRY(transport::LinkOptions link, link_options(config_));
    cluster::RemoteStoreOptions options{.identity = task_identity(env_, config_),
                                        .servers = server_endpoints(config_),
                                        .link = std::move(link),
                                        .ready_timeout = seconds_to_duration(config_.ready_timeout_secs()),
                                        .job_ended = {},
                                        .compression = config_.compression(),
                                        .by_rows = {},
                                        .witness = host_of(config_).witness};
    options.identity.fingerprint = model_->graph().fingerprint();
    options.identity.numerics = numerics;
    options.identity.variables = cluster::variables_text(specs);
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
  std::vector<std::string> variables, updates, by_rows;
  for (const auto& variable : program->program->info().variables) variables.push_back(variable.name);
  for (const nn::VariableUpdate& update : model_->spec().train_op->updates) {
    (update.rows.empty() ? updates : by_rows).push_back(update.variable);
  }
  return store_->bind(variables, updates, by_rows);
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
  input_resumed_ = target != start_position_;
  if (!request_.new_pass_at_end) return {};
  data::Batch batch;
  SHOAL_TRY(const bool any, input_.iterator->next(batch));
  if (!any) return begin_input_anew();
  input_.first_batch = std::move(batch);
  input_.first_position = target;
  return {};
}

Result<void> TrainTask::begin_input_anew() {
  input_resumed_ = false;
  SHOAL_TRY(input_.iterator, dataset_->iterate(env_, {.seed = config_.random_seed(),
                                                      .trainer_index = config_.trainer_index(),
                                                      .num_trainers = config_.num_trainers()}));
  return {};
}

}  // namespace shoal
