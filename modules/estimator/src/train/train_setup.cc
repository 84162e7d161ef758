// SPDX-License-Identifier: Apache-2.0
#include "train/train_setup.h"

#include <algorithm>

#include "model/check_meaning.h"
#include "model/checkpoint_layout.h"
#include "model/rules.h"
#include "shoal/base/compute.h"
#include "shoal/base/durable_folder.h"
#include "shoal/base/exhaustion.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/local_store.h"
#include "shoal/cluster/model_identity.h"
#include "shoal/estimator/hooks.h"
#include "shoal/estimator/profiler.h"
#include "task/task_network.h"
#include "train/image_saver.h"
#include "train/session_events.h"
#include "train/training_warnings.h"

namespace shoal {
namespace {

std::string numerics_text(const backends::Numerics& numerics) {
  std::string text = numerics.backend + " " + numerics.version;
  if (!numerics.isa.empty()) {
    text +=
        ", " + numerics.isa + ", " + std::to_string(numerics.threads) + (numerics.threads == 1 ? " thread" : " threads");
  }
  if (numerics.compute_dtype != DType::kFloat32) text.append(", ").append(to_string(numerics.compute_dtype));
  return text;
}

/// Checks that the ids of features and labels and the logits of heads stand for the same things (the same vocabulary, for
/// example) as in the model from whose weights training continues. Called before anything is written.
Result<void> check_checkpoint(TrainScope& scope, TrainerFolder& folder, const BuiltModel& model) {
  if (!folder.checkpoint()) {
    return check_meaning(scope.env.log(), scope.config(), folder.meaning(), join_path(scope.model_dir(), "run.json"), model,
                         Mode::kTrain);
  }
  const checkpoint::SaveInfo& saved = folder.checkpoint()->saved();
  const std::string where = "checkpoint " + folder.checkpoint()->prefix();
  SHOAL_TRY_VOID(check_meaning(scope.env.log(), scope.config(), saved.meaning, where, model, Mode::kTrain));
  tell_of_rules(scope.env.log(), saved.rules, where, model);
  return {};
}

Result<std::unique_ptr<BuiltModel>> build_model(TrainScope& scope, TrainerFolder& folder, const InputTypes& types) {
  const Estimator& estimator = scope.request.estimator;
  const RunConfig& config = scope.config();
  SHOAL_TRY(auto model, BuiltModel::build({estimator.model_fn(), Mode::kTrain, estimator.params(), config,
                                           RandomKey(scope.run.seed), estimator.ops()},
                                          types));
  if (scope.leads()) {
    if (scope.distributed()) warn_about_assignments(scope.env.log(), *model->spec().train_op, model->graph(), config);
    SHOAL_TRY_VOID(check_checkpoint(scope, folder, *model));
    SHOAL_TRY_VOID(folder.keep_meaning(model->graph().meaning().encode()));
  }
  SHOAL_TRY(auto backend, make_configured_backend(config));
  model->use_backend(std::move(backend), config.compute_threads(scope.env.process().usable_cores), config.compute_dtype());
  model->log_plans_to(&scope.env.log());
  model->use_budget(MemoryBudget(config), true);
  scope.env.log().info(config.compute_threads_text(scope.env.process()));
  if (scope.leads() && config.save_model_description()) {
    const std::string path = join_path(scope.model_dir(), "graph.json");
    SHOAL_TRY_VOID(scope.env.storage().write_atomically(path, model->graph().to_json()));
  }
  return model;
}

/// True if this task reports totals of all trainers: servers give them to the leading task only.
bool reports_job(const TrainScope& scope) {
  return scope.distributed() && scope.leads() && scope.config().num_trainers() > 1 &&
         scope.config().log_step_count_steps().value_or(0) > 0;
}

/// True if a NaN loss ends training without an error, because a hook of the caller or of the model says so
/// (NanGuardOptions::fail is false).
bool has_quiet_guard(const TrainScope& scope, const EstimatorSpec& spec) {
  const auto is_quiet = [](const std::shared_ptr<Hook>& hook) { return hook && hook->is_quiet_nan_guard(); };
  return std::ranges::any_of(scope.request.hooks, is_quiet) || std::ranges::any_of(spec.training_hooks, is_quiet) ||
         (scope.leads() && std::ranges::any_of(spec.training_chief_hooks, is_quiet));
}

/// Makes this task's hooks in the order of their calls: the model's training_chief_hooks if this task leads; Shoal's hooks
/// for records and progress; the caller's; Shoal's hooks for max_steps, NaN and the loss; the model's training_hooks.
Result<void> make_hooks(TrainScope& scope, TrainerFolder& folder, const std::optional<int64_t>& max_steps,
                        TrainSetup& setup) {
  const EstimatorSpec& spec = setup.model->spec();
  const RunConfig& config = scope.config();
  const TaskHost& host = host_of(config);
  std::vector<std::shared_ptr<Hook>>& hooks = setup.hooks;
  const bool shows = scope.leads() || host.workers_show_progress;
  setup.stops_quietly = has_quiet_guard(scope, spec);
  setup.progress = std::make_shared<ProgressHook>(shows ? host.progress : nullptr, max_steps);
  if (config.save_summary_steps().value_or(0) > 0 && (scope.records() || reports_job(scope))) {
    // A worker that records summaries may start before the chief has made the folder.
    if (!scope.leads()) SHOAL_TRY_VOID(make_durable_folder(scope.env.storage(), scope.model_dir()));
    Result<std::unique_ptr<monitor::EventWriter>> events = monitor::EventWriter::open(
        scope.env, scope.model_dir(), {.makes_folder = false, .survives_failure = config.spare_dir().has_value()});
    // If another process has removed model_dir since this task locked it, check_place() returns an error that says so.
    if (!events && scope.leads()) SHOAL_TRY_VOID(folder.check_place());
    SHOAL_TRY(setup.events, std::move(events));
  }
  if (scope.leads()) hooks.insert(hooks.end(), spec.training_chief_hooks.begin(), spec.training_chief_hooks.end());
  if (scope.records()) {
    if (config.log_step_count_steps()) hooks.push_back(step_counter(*config.log_step_count_steps()));
    if (setup.events) hooks.push_back(summary_saver(*config.save_summary_steps()));
    if (setup.events && !spec.image_summaries.empty()) {
      hooks.push_back(image_saver(spec.image_summaries, *config.save_summary_steps()));
    }
  }
  hooks.push_back(setup.progress);
  if (scope.leads() && host.profile_steps) hooks.push_back(profiler({.steps = *host.profile_steps}));
  hooks.insert(hooks.end(), scope.request.hooks.begin(), scope.request.hooks.end());
  if (max_steps) hooks.push_back(stop_at_step({.num_steps = {}, .last_step = max_steps}));
  if (!setup.stops_quietly) hooks.push_back(nan_guard());
  if (config.log_step_count_steps()) hooks.push_back(loss_logger(*config.log_step_count_steps()));
  hooks.insert(hooks.end(), spec.training_hooks.begin(), spec.training_hooks.end());
  return {};
}

/// Calls begin() of the hooks, and tells the model what its programs compute: the loss, values for hooks, and updates.
Result<void> begin_hooks(TrainSetup& setup) {
  const EstimatorSpec& spec = setup.model->spec();
  HookSetup begin = setup.model->hook_setup();
  for (const auto& [name, value] : spec.summaries) begin.fetch("summary/" + name, value);
  for (const auto& hook : setup.hooks) SHOAL_TRY_VOID(call_user("hook begin", [&] { hook->begin(begin); }));
  std::vector<Value> sometimes, updates;
  std::vector<std::string> update_variables;
  for (const auto& [name, value] : begin.fetches()) {
    sometimes.push_back(value);
    setup.fetch_names.push_back(name);
  }
  setup.final_values = begin.fetches_at_end();
  std::vector<Value> always{spec.loss};
  for (const Value& value : nn::scalar_values(*spec.train_op)) always.push_back(value);
  for (const nn::VariableUpdate& update : spec.train_op->updates) {
    for (const nn::RowUpdate& part : update.rows) always.insert(always.end(), {part.ids, part.gradients});
    if (!update.rows.empty()) continue;
    updates.push_back(update.update);
    update_variables.push_back(update.variable);
  }
  setup.model->set_values(std::move(always), std::move(sometimes), std::move(updates), std::move(update_variables));
  return {};
}

Result<std::vector<cluster::VariableSpec>> variable_specs(BuiltModel& model) {
  std::vector<cluster::VariableSpec> specs;
  const Graph& graph = model.graph();
  for (const Variable& variable : graph.variables()) specs.push_back(cluster_variable(model, variable));
  for (const nn::VariableUpdate& update : model.spec().train_op->updates) {
    const Variable* const variable = graph.find_variable(update.variable);
    if (!variable) return invalid_argument("train_op updates " + update.variable + ", which is no variable");
    cluster::VariableSpec& spec = specs[size_t(variable - graph.variables().data())];
    spec.rule = update.rule;
    spec.lazy_rows = !update.rows.empty();
  }
  return specs;
}

Result<cluster::ShardPlan> place_variables(TrainScope& scope, BuiltModel& model,
                                           const std::vector<cluster::VariableSpec>& specs) {
  const nn::TrainOp& train_op = *model.spec().train_op;
  const int scalars = int(train_op.scalars.size());
  if (!scope.distributed()) return cluster::plan_shards(specs, 1, scalars, nullptr, cluster::kOnePart);
  if (!train_op.advances_global_step) {
    return failed_precondition(
        "a train_op that does not advance the global step works in local mode only: on parameter "
        "servers every update is a step");
  }
  const RunConfig& config = scope.config();
  cluster::Placement placement;
  if (config.placement()) {
    placement = [&config](std::string_view name, const Shape& shape, int count) {
      const PlacementRequest request{.variable = name, .dtype = DType::kFloat32, .shape = shape, .num_ps = count};
      return call_user("placement", [&] { return int(config.placement()(request)); });
    };
  }
  // Servers hold the pushes (gradients) of an update until it has all of them. If an update sums more than this many pushes
  // per trainer, each trainer sends a push as a single message per shard, so that servers hold fewer messages.
  constexpr int64_t kPushesMax = 8;
  const int64_t trainers = config.num_trainers();
  const int64_t aggregated = config.update_strategy().replicas_to_aggregate.value_or(trainers);
  const uint64_t own_part_bytes = aggregated > kPushesMax * trainers ? cluster::kOnePart : host_of(config).own_part_bytes;
  return cluster::plan_shards(specs, config.num_ps_replicas(), scalars, placement, cluster::kPartBytesMax, own_part_bytes);
}

/// Plans the shards of the variables. Servers treat denormal floats in the same way as the job's kernels.
Result<cluster::ShardPlan> plan_variables(TrainScope& scope, BuiltModel& model,
                                          const std::vector<cluster::VariableSpec>& specs) {
  SHOAL_TRY(cluster::ShardPlan plan, place_variables(scope, model, specs));
  for (cluster::ShardSpec& shard : plan.shards) shard.denormals = model.numerics().denormals;
  return plan;
}

Result<std::unique_ptr<cluster::RemoteStore>> make_remote_store(TrainScope& scope, TrainerFolder& folder, BuiltModel& model,
                                                                const std::vector<cluster::VariableSpec>& specs,
                                                                cluster::ShardPlan plan) {
  const RunConfig& config = scope.config();
  SHOAL_TRY(transport::LinkOptions link, link_options(config));
  cluster::RemoteStoreOptions options{.identity = task_identity(scope.env, config),
                                      .servers = server_endpoints(config),
                                      .link = std::move(link),
                                      .ready_timeout = scope.ready_timeout(),
                                      .job_ended = {},
                                      .compression = config.compression(),
                                      .by_rows = {},
                                      .allow_non_finite = config.allow_non_finite(),
                                      .observer = host_of(config).observer};
  if (scope.incarnation) options.identity.incarnation = *scope.incarnation;
  const Meaning& meaning = model.graph().meaning();
  const ModelRules rules = rules_of(model.spec().loss, *model.spec().train_op);
  options.identity.fingerprint = fold_in(fold_in(model.graph().fingerprint(), meaning.hash()), encode_rules(rules));
  options.identity.numerics = numerics_text(model.numerics());
  options.identity.variables = cluster::variables_text(specs);
  options.identity.meaning = cluster::meaning_text(meaning, rules);
  options.identity.run = scope.run;
  if (!scope.leads()) options.job_ended = [&folder] { return folder.job_has_ended(); };
  return cluster::make_remote_store(scope.env, std::move(plan), std::move(options));
}

/// Tells the store the names of variables and updates, in the program's order, so that it binds them to the memory that the
/// plan of the shards gives them.
Result<void> bind_program(const ResumableInput& input, TrainSetup& setup) {
  SHOAL_TRY(const SymbolSizes sizes, input.first_sizes(*setup.model));
  SHOAL_TRY(const BoundProgram* program, setup.model->program(sizes, false));
  std::vector<std::string> variables, updates, by_rows;
  for (const auto& variable : program->program->info().variables) variables.push_back(variable.name);
  for (const nn::VariableUpdate& update : setup.model->spec().train_op->updates) {
    (update.rows.empty() ? updates : by_rows).push_back(update.variable);
  }
  return setup.store->bind(variables, updates, by_rows);
}

/// The memory of a model's variables in bytes. A sum beyond 64 bits is UINT64_MAX.
struct ModelBytes {
  uint64_t weights = 0;
  uint64_t gradients = 0;  ///< Gradients of one trainer, without those of tables that are updated by rows.
  uint64_t slots = 0;
  uint64_t tables = 0;  ///< Weights and slots of tables of which a checkpoint writes only the changed rows.
  const cluster::VariableSpec* largest = nullptr;
};

uint64_t bounded_sum(uint64_t a, uint64_t b) { return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a; }
uint64_t bounded_product(uint64_t a, uint64_t b) { return __builtin_mul_overflow(a, b, &a) ? UINT64_MAX : a; }

/// Returns how many bytes of changed rows a checkpoint may keep in memory. The limit grows with the tables, since a job
/// with large tables runs on machines with much memory.
uint64_t changes_max(const ModelBytes& bytes) { return std::max(checkpoint::Sharing{}.changes_max, bytes.tables / 16); }

ModelBytes model_bytes(const std::vector<cluster::VariableSpec>& specs) {
  ModelBytes sum;
  uint64_t largest_bytes = 0;
  for (const cluster::VariableSpec& spec : specs) {
    const uint64_t bytes = uint64_t(spec.shape.elements()) * size_of(spec.dtype);
    sum.weights = bounded_sum(sum.weights, bytes);
    sum.gradients = bounded_sum(sum.gradients, spec.lazy_rows ? 0 : bytes);
    const uint64_t slots = bounded_product(uint64_t(nn::slot_count(spec.rule)), bytes);
    sum.slots = bounded_sum(sum.slots, slots);
    if (changes_little(spec) && bytes >= checkpoint::Sharing{}.bytes_min)
      sum.tables = bounded_sum(sum.tables, bounded_sum(bytes, slots));
    if (bytes > largest_bytes) sum.largest = &spec;
    largest_bytes = std::max(largest_bytes, bytes);
  }
  return sum;
}

/// FailedPrecondition if this machine has too little memory for what this task holds of the model: its weights and, if
/// there are no servers, slots and gradients. (A server checks its own part.)
Result<void> check_memory(const TrainScope& scope, const ModelBytes& bytes) {
  uint64_t least = bytes.weights;
  if (!scope.distributed()) {
    least =
        bounded_sum(least, bounded_sum(bytes.slots, bounded_product(uint64_t(scope.config().replicas()), bytes.gradients)));
  }
  std::string whose = "the model";
  if (bytes.largest) {
    whose += ", whose largest variable is " + bytes.largest->name + " of shape " + to_string(bytes.largest->shape) + ",";
  }
  return fits_memory(least, scope.env.process().memory_bytes, whose, "make it smaller, or use a machine with more memory");
}

/// Adds to `budget` the memory that a trainer needs in addition to its compiled programs (docs/memory.md, "A limit of one's
/// own").
void plan_memory(const TrainScope& scope, const ModelBytes& bytes, MemoryBudget& budget) {
  constexpr std::string_view kSmaller = "a smaller model", kFewerSlots = "an optimizer with fewer slots";
  const RunConfig& config = scope.config();
  budget.set("weights", bytes.weights, kSmaller);
  if (scope.leads() && config.saves_checkpoints() && bytes.tables > 0) {
    constexpr uint64_t kBuffers = uint64_t(3) << 20;  // Buffers to compare the new checkpoint with the last one.
    budget.set("changed rows", std::min(changes_max(bytes), bytes.tables / 4) + kBuffers);
  }
  if (scope.distributed()) {
    const bool encodes = config.compression().any();
    // The memory that all connections of a trainer need for queues and TLS, as measured (docs/memory.md).
    constexpr uint64_t kConnectionBytes = uint64_t(6) << 20;
    budget.set("connections", kConnectionBytes);
    budget.set("gradients", bounded_product(encodes ? 2 : 1, bytes.gradients), kSmaller);
    return;
  }
  budget.set("gradients", bounded_product(uint64_t(config.replicas()), bytes.gradients),
             config.replicas() > 1 ? "fewer replicas" : kSmaller);
  budget.set("slots", bytes.slots, kFewerSlots);
  // If a step is made while a checkpoint is written, memory has two versions of weights and slots: those that the step
  // makes, and those that are written.
  if (config.saves_checkpoints()) budget.set("a checkpoint", bounded_sum(bytes.weights, bytes.slots), kFewerSlots);
}

Result<void> make_store(TrainScope& scope, TrainerFolder& folder, const ResumableInput& input, TrainSetup& setup) {
  BuiltModel& model = *setup.model;
  SHOAL_TRY(const std::vector<cluster::VariableSpec> specs, variable_specs(model));
  const ModelBytes bytes = model_bytes(specs);
  SHOAL_TRY_VOID(check_memory(scope, bytes));
  plan_memory(scope, bytes, model.budget());
  SHOAL_TRY(cluster::ShardPlan plan, plan_variables(scope, model, specs));
  if (scope.distributed()) {
    SHOAL_TRY(auto remote, make_remote_store(scope, folder, model, specs, std::move(plan)));
    setup.servers = remote.get();
    setup.store = std::move(remote);
  } else {
    const bool advances = model.spec().train_op->advances_global_step;
    setup.store = cluster::make_local_store(scope.env, std::move(plan),
                                            {.advances_global_step = advances,
                                             .replicas = scope.config().replicas(),
                                             .allow_non_finite = scope.config().allow_non_finite()});
  }
  if (scope.leads() && scope.config().saves_checkpoints()) {
    const checkpoint::Sharing sharing{.bytes_min = host_of(scope.config()).table_bytes_min,
                                      .changes_max = changes_max(bytes)};
    SaverOptions options{.model_dir = scope.model_dir(),
                         .spare = folder.spare(),
                         .numerics = numerics_text(model.numerics()),
                         .fingerprint = std::to_string(model.graph().fingerprint()),
                         .meaning = model.graph().meaning().encode(),
                         .rules = encode_rules(rules_of(model.spec().loss, *model.spec().train_op)),
                         .run = folder.run_text(),
                         .check_place = [&folder] { return folder.check_place(); },
                         .ready_timeout = scope.ready_timeout(),
                         .check_run = [&folder] { return folder.check_run(); },
                         .sharing = folder.is_locked() ? std::optional(sharing) : std::nullopt,
                         .listeners = scope.request.listeners,
                         .meters = host_of(scope.config()).meters};
    setup.saver = std::make_unique<CheckpointSaver>(scope.env, scope.config(), std::move(options));
  }
  if (reports_job(scope)) {
    setup.metrics = std::make_unique<JobMetrics>(scope.env, *setup.servers,
                                                 JobMetricsOptions{.every_steps = *scope.config().log_step_count_steps(),
                                                                   .events = setup.events.get(),
                                                                   .progress = setup.progress});
  }
  return bind_program(input, setup);
}

}  // namespace

Task<Result<TrainSetup>> set_up_training(TrainScope& scope, TrainerFolder& folder, const ResumableInput& input) {
  TrainSetup setup;
  const auto build = [&] { return build_model(scope, folder, *input.types()); };
  SHOAL_CO_TRY(setup.model, co_await compute(scope.env, build));
  const WarmStart* warm_start = scope.request.estimator.warm_start();
  const InitialValues& values = setup.model->initial_values();
  if ((warm_start || !values.values().empty()) && scope.leads() && !folder.has_checkpoint()) {
    const auto open = [&] {
      return InitialSource::open(scope.env, warm_start, setup.model->graph(), values, Mode::kTrain);
    };
    SHOAL_CO_TRY(setup.initial, co_await compute(scope.env, open));
  }
  const auto hook = [&]() -> Result<void> {
    SHOAL_TRY_VOID(make_hooks(scope, folder, folder.max_steps(), setup));
    scope.context.set_task(scope.leads(), scope.model_dir(), scope.records() ? setup.events.get() : nullptr);
    SHOAL_TRY_VOID(begin_hooks(setup));
    if (scope.leads() && setup.events) SHOAL_TRY_VOID(write_session_start(scope, setup.model->graph(), *setup.events));
    return {};
  };
  SHOAL_CO_TRY_VOID(co_await compute(scope.env, hook));
  const auto store = [&] { return make_store(scope, folder, input, setup); };
  SHOAL_CO_TRY_VOID(co_await compute(scope.env, store));
  co_return setup;
}

}  // namespace shoal
