// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/run_config.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "shoal/base/format.h"
#include "shoal/base/path_error.h"
#include "shoal/cluster/strategy_text.h"
#include "shoal/monitor/metrics_endpoint.h"
#include "task/meet_others.h"
#include "task/plugins.h"

namespace shoal {
namespace {

constexpr double kDefaultCheckpointSecs = 600;
constexpr double kHeartbeatSecsMax = 65;  // Messages state the heartbeat interval as milliseconds in 16 bits.
constexpr double kLostGraceSecsMax = 86400;
constexpr int64_t kMemoryLimitMin = 1 << 20;
constexpr int64_t kReplicasMax = 1'000'000;

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text + "0" : text;
  } else {
    return std::to_string(value);
  }
}

Error out_of_range(std::string_view field, const std::string& value, std::string_view accepted) {
  return invalid_argument("RunConfig: " + std::string(field) + ": " + value + " is out of range, accepted is " +
                          std::string(accepted));
}

template <class T>
bool is_finite(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isfinite(value);
  return true;
}

template <class T>
Result<void> check_not_negative(std::string_view field, const std::optional<T>& value) {
  if (!value || (is_finite(*value) && *value >= 0)) return {};
  return out_of_range(field, text_of(*value), ">= 0");
}

template <class T>
Result<void> check_positive(std::string_view field, const std::optional<T>& value) {
  if (!value || (is_finite(*value) && *value > 0)) return {};
  return out_of_range(field, text_of(*value), "> 0");
}

Result<void> check_runtime(const RuntimeOptions& runtime) {
  if (runtime.threads && *runtime.threads < 1) return out_of_range("runtime.threads", text_of(*runtime.threads), ">= 1");
  if (runtime.compute_dtype != DType::kFloat32 && runtime.compute_dtype != DType::kBFloat16) {
    return out_of_range("runtime.compute_dtype", std::string(to_string(runtime.compute_dtype)), "float32 or bfloat16");
  }
  const auto checked = cluster::parse_compression(to_string(runtime.compression));
  if (!checked || *checked != runtime.compression) {
    return out_of_range("runtime.compression", to_string(runtime.compression), "what parse_compression() can give");
  }
  if (runtime.replicas < 1) return out_of_range("runtime.replicas", text_of(runtime.replicas), ">= 1");
  if (runtime.memory_limit && *runtime.memory_limit < kMemoryLimitMin) {
    return out_of_range("runtime.memory_limit", text_of(*runtime.memory_limit), ">= 1048576 (1 MiB)");
  }
  if (!(runtime.heartbeat_secs > 0 && runtime.heartbeat_secs <= kHeartbeatSecsMax)) {
    return out_of_range("runtime.heartbeat_secs", text_of(runtime.heartbeat_secs), "> 0 and <= 65");
  }
  if (!(runtime.lost_grace_secs > 0 && runtime.lost_grace_secs <= kLostGraceSecsMax)) {
    return out_of_range("runtime.lost_grace_secs", text_of(runtime.lost_grace_secs), "> 0 and <= 86400");
  }
  if (runtime.transport && runtime.transport->empty()) {
    return invalid_argument("RunConfig: runtime.transport: is the empty string; name one, as tcp, or leave it out");
  }
  if (runtime.backend && runtime.backend->empty()) {
    return invalid_argument("RunConfig: runtime.backend: is the empty string; name one, as reference, or leave it out");
  }
  if (!runtime.plugins) return {};
  Result<void> plugins = check_plugins(*runtime.plugins);
  if (!plugins) return std::move(plugins).error().with_context("RunConfig: runtime");
  return {};
}

/// Checks every field by itself, without regard to other fields.
Result<void> check_fields(const RunConfigOptions& options) {
  if (options.model_dir && options.model_dir->empty()) {
    return invalid_argument("RunConfig: model_dir: is the empty string; give a path or leave it out");
  }
  // Other storages have their own rules for valid paths.
  const bool on_file_system = !options.storage && !options.environment;
  if (options.model_dir && on_file_system) {
    Result<void> path = check_path(*options.model_dir);
    if (!path) return std::move(path).error().with_context("RunConfig: model_dir");
  }
  if (options.spare_dir) {
    Result<void> path = on_file_system ? check_path(*options.spare_dir) : Result<void>();
    if (!path) return std::move(path).error().with_context("RunConfig: spare_dir");
  }
  if (options.metrics) {
    auto address = monitor::parse_metrics_address(*options.metrics);
    if (!address) return std::move(address).error().with_context("RunConfig");
  }
  SHOAL_TRY_VOID(check_not_negative("save_checkpoints_steps", options.save_checkpoints_steps.optional()));
  SHOAL_TRY_VOID(check_not_negative("save_checkpoints_secs", options.save_checkpoints_secs.optional()));
  SHOAL_TRY_VOID(check_not_negative("save_summary_steps", options.save_summary_steps));
  SHOAL_TRY_VOID(check_positive("log_step_count_steps", options.log_step_count_steps));
  SHOAL_TRY_VOID(check_not_negative("keep_checkpoint_max", options.keep_checkpoint_max));
  SHOAL_TRY_VOID(check_positive("keep_checkpoint_every_n_hours", options.keep_checkpoint_every_n_hours));
  SHOAL_TRY_VOID(check_not_negative("max_worker_delay_secs", options.max_worker_delay_secs));
  SHOAL_TRY_VOID(check_positive("ready_timeout_secs", std::optional<double>(options.ready_timeout_secs)));
  const UpdateStrategyOptions& strategy = options.update_strategy;
  if (strategy.kind == UpdateStrategyKind::kBoundedStaleness) {
    return invalid_argument("RunConfig: update_strategy: this version of Shoal has async and sync updates; " +
                            std::string(to_string(strategy.kind)) + " is not built yet");
  }
  SHOAL_TRY_VOID(check_positive("replicas_to_aggregate", strategy.replicas_to_aggregate));
  SHOAL_TRY_VOID(check_positive("total_replicas", strategy.total_replicas));
  const bool sync = strategy.kind == UpdateStrategyKind::kSync;
  if (!sync && (strategy.replicas_to_aggregate || strategy.total_replicas)) {
    return invalid_argument(
        "RunConfig: replicas_to_aggregate and total_replicas have an effect with update_strategy sync only; choose that, "
        "or "
        "leave them out");
  }
  if (options.environment && (options.log_sink || options.storage || options.stop.stop_possible())) {
    return invalid_argument(
        "RunConfig: environment: has a log, a storage and a stop of its own; leave out log_sink, storage and stop, and "
        "give them to the environment (ProductionOptions has them)");
  }
  if (options.runtime) SHOAL_TRY_VOID(check_runtime(*options.runtime));
  return {};
}

Error both_cadences() {
  return invalid_argument(
      "RunConfig: save_checkpoints_steps and save_checkpoints_secs cannot both be set; set one of them");
}

/// Resolves the checkpoint interval: save_checkpoints_steps and save_checkpoints_secs each become a number or None. If both
/// are unset, a checkpoint is written every 600 s.
Result<void> resolve_cadence(RunConfigOptions& options) {
  auto& steps = options.save_checkpoints_steps;
  auto& secs = options.save_checkpoints_secs;
  if (steps.has_value() && secs.has_value()) return both_cadences();
  if (steps.is_unset() && secs.is_unset()) secs = kDefaultCheckpointSecs;
  if (steps.is_unset()) steps = std::nullopt;
  if (secs.is_unset()) secs = std::nullopt;
  return {};
}

/// Copies the task's model_dir to the options if they have none; else checks that the two are equal. TF_CONFIG's parser
/// makes the same comparison; this function serves configs from other sources.
Result<void> unite_model_dir(RunConfigOptions& options, const cluster::TaskConfig& task) {
  if (!task.model_dir) return {};
  if (!options.model_dir) options.model_dir = task.model_dir;
  if (*options.model_dir == *task.model_dir) return {};
  return invalid_argument("RunConfig: model_dir: \"" + *options.model_dir + "\" is not the \"" + *task.model_dir +
                          "\" of TF_CONFIG; give only one, or the same");
}

/// Checks the options of synchronous updates against the number of trainers. Without a cluster there is one trainer, and
/// nothing to aggregate.
Result<void> check_strategy(const UpdateStrategyOptions& strategy, const cluster::TaskConfig& task) {
  const int32_t trainers = task.num_workers;  // 0 in an evaluator's configuration, since it does not train.
  const bool local = task.mode == cluster::TaskMode::kLocal;
  if (strategy.kind != UpdateStrategyKind::kSync || local || trainers == 0) return {};
  if (strategy.total_replicas.value_or(trainers) != trainers) {
    return invalid_argument("RunConfig: total_replicas: is " + std::to_string(*strategy.total_replicas) +
                            ", and the cluster has " + std::to_string(trainers) +
                            " trainers, the chief among them; leave it out");
  }
  const int64_t aggregated = strategy.replicas_to_aggregate.value_or(trainers);
  if (aggregated > kReplicasMax)
    return out_of_range("replicas_to_aggregate", std::to_string(aggregated), ">= 1 and <= 1000000");
  Result<void> fits = cluster::check_aggregation(int(aggregated), trainers);
  if (!fits) return std::move(fits).error().with_context("RunConfig");
  return {};
}

Result<void> resolve(RunConfigOptions& options, const cluster::TaskConfig& task) {
  SHOAL_TRY_VOID(check_fields(options));
  SHOAL_TRY_VOID(check_strategy(options.update_strategy, task));
  SHOAL_TRY_VOID(resolve_cadence(options));
  if (options.spare_dir && (options.spare_dir->empty() || options.spare_dir == options.model_dir)) {
    return invalid_argument("RunConfig: spare_dir: \"" + *options.spare_dir +
                            "\" is no second folder beside model_dir; name one on another disk, or leave it out");
  }
  options.log_sink = guarded_sink(std::move(options.log_sink));
  return unite_model_dir(options, task);
}

template <class T>
void change(std::optional<T>& field, const Setting<T>& to) {
  if (!to.is_unset()) field = to.optional();
}

template <class T>
Result<void> change_value(std::string_view name, T& field, const Setting<T>& to) {
  if (to.is_none()) return invalid_argument("RunConfig: " + std::string(name) + ": cannot be None");
  if (to.has_value()) field = *to;
  return {};
}

/// Changes the interval between checkpoints. A number for one of save_checkpoints_steps and save_checkpoints_secs sets the
/// other to None. Numbers for both are an error.
Result<void> change_cadence(RunConfigOptions& options, const RunConfigChanges& changes) {
  const auto& steps = changes.save_checkpoints_steps;
  const auto& secs = changes.save_checkpoints_secs;
  if (steps.has_value() && secs.has_value()) return both_cadences();
  if (!steps.is_unset()) options.save_checkpoints_steps = steps;
  if (!secs.is_unset()) options.save_checkpoints_secs = secs;
  if (steps.has_value()) options.save_checkpoints_secs = std::nullopt;
  if (secs.has_value()) options.save_checkpoints_steps = std::nullopt;
  return {};
}

Result<void> apply(RunConfigOptions& options, const RunConfigChanges& changes) {
  SHOAL_TRY_VOID(change_cadence(options, changes));
  change(options.model_dir, changes.model_dir);
  change(options.spare_dir, changes.spare_dir);
  change(options.metrics, changes.metrics);
  change(options.save_summary_steps, changes.save_summary_steps);
  change(options.log_step_count_steps, changes.log_step_count_steps);
  change(options.keep_checkpoint_max, changes.keep_checkpoint_max);
  change(options.keep_checkpoint_every_n_hours, changes.keep_checkpoint_every_n_hours);
  change(options.random_seed, changes.random_seed);
  change(options.max_worker_delay_secs, changes.max_worker_delay_secs);
  change(options.runtime, changes.runtime);
  if (!changes.placement.is_unset()) options.placement = changes.placement.optional().value_or(Placement());
  if (!changes.log_sink.is_unset()) options.log_sink = guarded_sink(changes.log_sink.optional().value_or(LogSink()));
  if (!changes.storage.is_unset()) options.storage = changes.storage.optional().value_or(nullptr);
  if (!changes.stop.is_unset()) options.stop = changes.stop.optional().value_or(StopToken());
  if (!changes.environment.is_unset()) options.environment = changes.environment.optional().value_or(nullptr);
  SHOAL_TRY_VOID(change_value("ready_timeout_secs", options.ready_timeout_secs, changes.ready_timeout_secs));
  SHOAL_TRY_VOID(change_value("save_model_description", options.save_model_description, changes.save_model_description));
  SHOAL_TRY_VOID(change_value("accept_changed_model", options.accept_changed_model, changes.accept_changed_model));
  SHOAL_TRY_VOID(change_value("allow_non_finite", options.allow_non_finite, changes.allow_non_finite));
  SHOAL_TRY_VOID(change_value("update_strategy", options.update_strategy, changes.update_strategy));
  SHOAL_TRY_VOID(change_value("on_sigterm", options.on_sigterm, changes.on_sigterm));
  return check_fields(options);
}

/// Says for the log which task a rank has become.
std::string described(const cluster::TaskConfig& task) {
  const cluster::Place& place = *task.place;
  return std::string(to_string(place.source)) + ": rank " + std::to_string(place.rank) + " of " +
         std::to_string(place.size) + " is " + task.name() + "; as TF_CONFIG: " + cluster::to_tf_config(task);
}

}  // namespace

std::string_view to_string(UpdateStrategyKind kind) {
  switch (kind) {
    case UpdateStrategyKind::kAsync: return "async";
    case UpdateStrategyKind::kSync: return "sync";
    case UpdateStrategyKind::kBoundedStaleness: return "bounded_staleness";
  }
  return "unknown";
}

Result<UpdateStrategyKind> parse_update_strategy(std::string_view name) {
  using enum UpdateStrategyKind;
  for (const UpdateStrategyKind kind : {kAsync, kSync, kBoundedStaleness}) {
    if (name == to_string(kind)) return kind;
  }
  return invalid_argument("update_strategy: \"" + std::string(name) + "\" is none of async, sync");
}

std::string_view to_string(OnSigterm meaning) { return meaning == OnSigterm::kLeave ? "leave" : "end"; }

Result<OnSigterm> parse_on_sigterm(std::string_view name, std::string_view where) {
  for (const OnSigterm meaning : {OnSigterm::kEnd, OnSigterm::kLeave}) {
    if (name == to_string(meaning)) return meaning;
  }
  return invalid_argument(std::string(where) + ": \"" + std::string(name) + "\" is neither end nor leave");
}

/// The values that all copies of one config share.
struct RunConfig::State {
  RunConfigOptions options;                            // Each checkpoint interval is a number or None here, never unset.
  std::optional<int64_t> save_checkpoints_steps = {};  // Copies from `options`, for the getters of RunConfig.
  std::optional<double> save_checkpoints_secs = {};
  std::shared_ptr<const cluster::TaskConfig> task;
  std::shared_ptr<const TaskHost> host = {};
  std::shared_ptr<const void> membership = {};  // As long as it exists, other tasks of the job can find this task.
  struct Replica {
    int32_t index;
    int32_t count;
  };
  std::optional<Replica> replica = {};

  /// Copies the checkpoint intervals in `options` to save_checkpoints_steps and save_checkpoints_secs below. Called after
  /// each change of `options`.
  void note_cadence() {
    save_checkpoints_steps = options.save_checkpoints_steps.optional();
    save_checkpoints_secs = options.save_checkpoints_secs.optional();
  }
};

RunConfig RunConfig::with_state(std::shared_ptr<const State> state) const {
  RunConfig changed = *this;
  changed.state_ = std::move(state);
  return changed;
}

RunConfig::RunConfig(RunConfigOptions options, cluster::TaskConfig task) {
  auto state = std::make_shared<State>(
      State{.options = std::move(options), .task = std::make_shared<const cluster::TaskConfig>(std::move(task))});
  value_or_raise(resolve(state->options, *state->task));
  state->note_cadence();
  state_ = std::move(state);
}

const std::optional<std::string>& RunConfig::model_dir() const { return state_->options.model_dir; }
const std::optional<std::string>& RunConfig::spare_dir() const { return state_->options.spare_dir; }
const std::optional<std::string>& RunConfig::metrics() const { return state_->options.metrics; }
const std::optional<int64_t>& RunConfig::save_checkpoints_steps() const { return state_->save_checkpoints_steps; }
const std::optional<double>& RunConfig::save_checkpoints_secs() const { return state_->save_checkpoints_secs; }
const std::optional<int64_t>& RunConfig::save_summary_steps() const { return state_->options.save_summary_steps; }
const std::optional<int64_t>& RunConfig::log_step_count_steps() const { return state_->options.log_step_count_steps; }
const std::optional<int64_t>& RunConfig::keep_checkpoint_max() const { return state_->options.keep_checkpoint_max; }
const std::optional<double>& RunConfig::keep_checkpoint_every_n_hours() const {
  return state_->options.keep_checkpoint_every_n_hours;
}
const std::optional<int64_t>& RunConfig::random_seed() const { return state_->options.random_seed; }
const std::optional<int64_t>& RunConfig::max_worker_delay_secs() const { return state_->options.max_worker_delay_secs; }
double RunConfig::ready_timeout_secs() const { return state_->options.ready_timeout_secs; }
bool RunConfig::save_model_description() const { return state_->options.save_model_description; }
bool RunConfig::accept_changed_model() const { return state_->options.accept_changed_model; }
bool RunConfig::allow_non_finite() const { return state_->options.allow_non_finite; }
const UpdateStrategyOptions& RunConfig::update_strategy() const { return state_->options.update_strategy; }
OnSigterm RunConfig::on_sigterm() const { return state_->options.on_sigterm; }
const Placement& RunConfig::placement() const { return state_->options.placement; }
const std::optional<RuntimeOptions>& RunConfig::runtime() const { return state_->options.runtime; }
const LogSink& RunConfig::log_sink() const { return state_->options.log_sink; }
const std::shared_ptr<Storage>& RunConfig::storage() const { return state_->options.storage; }
const StopToken& RunConfig::stop() const { return state_->options.stop; }
const std::shared_ptr<Environment>& RunConfig::own_environment() const { return state_->options.environment; }
const std::string& RunConfig::task_type() const { return state_->task->type; }
int32_t RunConfig::task_id() const { return state_->task->index; }
bool RunConfig::is_chief() const { return state_->task->is_chief; }
int32_t RunConfig::num_ps_replicas() const { return state_->task->num_ps; }
int32_t RunConfig::num_worker_replicas() const { return state_->task->num_workers; }
std::optional<int64_t> RunConfig::global_id() const { return state_->task->global_id; }
const std::string& RunConfig::rpc_address() const { return state_->task->rpc_address; }
const cluster::ClusterSpec& RunConfig::cluster() const { return state_->task->cluster; }
const std::optional<std::string>& RunConfig::service() const { return state_->task->service; }
const std::optional<std::string>& RunConfig::trial() const { return state_->task->trial; }
int32_t RunConfig::trainer_index() const {
  return state_->replica ? state_->replica->index : state_->task->trainer_index();
}
int32_t RunConfig::num_trainers() const { return state_->replica ? state_->replica->count : state_->task->num_trainers(); }
const cluster::TaskConfig& RunConfig::task() const { return *state_->task; }
const std::shared_ptr<const TaskHost>& RunConfig::host() const { return state_->host; }

RunConfig RunConfig::from_environment(RunConfigOptions options, const cluster::GetEnv& getenv, Logger* log,
                                      std::shared_ptr<const TaskHost> host) {
  return value_or_raise(try_from_environment(std::move(options), getenv, log, std::move(host)));
}

Result<RunConfig> RunConfig::try_from_environment(RunConfigOptions options, const cluster::GetEnv& getenv, Logger* log,
                                                  std::shared_ptr<const TaskHost> host) {
  SHOAL_TRY_VOID(check_fields(options));
  SHOAL_TRY(cluster::TaskConfig task, cluster::task_from_environment(getenv, {.model_dir = options.model_dir}));
  if (log && task.source == cluster::ConfigSource::kTfConfig) log->info("TF_CONFIG: " + cluster::to_tf_config(task));
  if (log) {
    for (const std::string& warning : task.warnings) log->warning(warning);
    task.warnings.clear();  // Cleared so that each warning is logged only once, by the first config that has a logger.
  }
  SHOAL_TRY_VOID(resolve(options, task));
  std::shared_ptr<const void> membership;
  if (!task.has_met()) {
    SHOAL_TRY(Met met, meet_others(RunConfig(options, task).with_host(host)));
    met.task.warnings.insert(met.task.warnings.begin(), task.warnings.begin(), task.warnings.end());
    task = std::move(met.task);
    membership = std::move(met.membership);
    if (log && !task.has_ended) log->info(described(task));
  }
  const RunConfig config(std::move(options), std::move(task));
  auto state = std::make_shared<State>(*config.state_);
  state->host = std::move(host);
  state->membership = std::move(membership);
  return config.with_state(std::move(state));
}

bool RunConfig::saves_checkpoints() const {
  return save_checkpoints_steps().value_or(0) > 0 || save_checkpoints_secs().value_or(0) > 0;
}

int32_t RunConfig::compute_threads(int32_t usable_cores) const {
  if (state_->options.runtime && state_->options.runtime->threads) return *state_->options.runtime->threads;
  return std::max(1, usable_cores / std::max(1, state_->task->tasks_on_host));
}

std::string RunConfig::compute_threads_text(const ProcessInfo& process) const {
  const auto count = [](int64_t number, const std::string& what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  const std::string threads = count(compute_threads(process.usable_cores), "compute thread");
  if (state_->options.runtime && state_->options.runtime->threads) return threads + ", as this program set it";
  const double share = process.core_quota.value_or(0);
  std::string cores = process.core_quota ? formatted("a quota of %.3g core%s", share, share == 1 ? "" : "s")
                                         : count(process.usable_cores, "usable core");
  if (!process.core_quota && process.usable_processors > 0) {
    cores += " (" + count(process.usable_processors, "hyper-thread") + ")";
  }
  if (!process.core_quota && process.slow_cores > 0) {
    cores += " and none of " + count(process.slow_cores, "slow core") + " (which have less than half the capacity)";
  }
  if (process.slowed_by_heat) cores += ", slowed down by heat at the moment";
  return threads + ", for " + cores +
         (state_->task->tasks_on_host > 1 ? " and " + count(state_->task->tasks_on_host, "task") + " on this host" : "");
}

std::string RunConfig::transport() const {
  if (state_->options.runtime && state_->options.runtime->transport) return *state_->options.runtime->transport;
  return state_->task->in_process ? "inproc" : "tcp";
}

std::optional<std::string> RunConfig::backend() const {
  return state_->options.runtime ? state_->options.runtime->backend : std::nullopt;
}

DType RunConfig::compute_dtype() const {
  return state_->options.runtime ? state_->options.runtime->compute_dtype : DType::kFloat32;
}

cluster::Compression RunConfig::compression() const {
  return state_->options.runtime ? state_->options.runtime->compression : cluster::Compression{};
}

int32_t RunConfig::replicas() const { return state_->options.runtime ? state_->options.runtime->replicas : 1; }

double RunConfig::heartbeat_secs() const { return state_->options.runtime.value_or(RuntimeOptions()).heartbeat_secs; }
std::optional<int64_t> RunConfig::memory_limit() const {
  return state_->options.runtime.value_or(RuntimeOptions()).memory_limit;
}
double RunConfig::lost_grace_secs() const { return state_->options.runtime.value_or(RuntimeOptions()).lost_grace_secs; }

RunConfig RunConfig::replace(const RunConfigChanges& changes) const {
  auto changed = std::make_shared<State>(*state_);
  value_or_raise(apply(changed->options, changes));
  value_or_raise(check_strategy(changed->options.update_strategy, *changed->task));
  changed->note_cadence();
  return with_state(std::move(changed));
}

RunConfig RunConfig::as_replica(int32_t index, int32_t count) const {
  if (count <= 1) return *this;
  auto changed = std::make_shared<State>(*state_);
  changed->replica = State::Replica{index, count};
  return with_state(std::move(changed));
}

RunConfig RunConfig::with_host(std::shared_ptr<const TaskHost> host) const {
  auto changed = std::make_shared<State>(*state_);
  changed->host = std::move(host);
  return with_state(std::move(changed));
}

}  // namespace shoal
