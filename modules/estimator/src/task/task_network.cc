// SPDX-License-Identifier: Apache-2.0
// The identity of a task for its peers, the addresses of peers, and the task's environment.
#include "task/task_network.h"
#include "shoal/base/forever.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/strategy_text.h"
#include "shoal/transport/inproc.h"
#include "shoal/transport/registry.h"
#include "task/plugins.h"

namespace shoal {

const TaskHost& host_of(const RunConfig& config) {
  static const auto& none = forever(TaskHost{});
  return config.host() ? *config.host() : none;
}

TransportTable transports_of(const TaskHost& host, const std::optional<RuntimeOptions>& runtime) {
  TransportTable table = transport::built_in_transports();
  for (const auto& [scheme, factory] : host.transports) table.insert_or_assign(scheme, factory);
  add_own_transports(table, runtime);
  return table;
}

namespace {

std::string strategy_text(const UpdateStrategyOptions& strategy) {
  cluster::StrategyText text{.sync = strategy.kind == UpdateStrategyKind::kSync, .replicas_to_aggregate = {}};
  if (strategy.replicas_to_aggregate)
    text.replicas_to_aggregate = int(*strategy.replicas_to_aggregate);  // check_strategy() has checked the range.
  return cluster::to_string(text);
}

}  // namespace

cluster::TaskIdentity task_identity(Environment& env, const RunConfig& config) {
  const cluster::TaskConfig& task = config.task();
  cluster::TaskIdentity identity;
  identity.job = cluster::job_text(task.job);
  identity.role = config.task_type();
  identity.index = config.task_id();
  identity.trainer_index = config.trainer_index();
  identity.sparse = cluster::sparse_roles(task.job);
  identity.incarnation = env.entropy() | 1;
  identity.strategy = strategy_text(config.update_strategy());
  identity.start = host_of(config).shoal_run;
  if (identity.start.empty() && task.place) identity.start = task.place->run;
  identity.origin = env.process().program;
  constexpr size_t kOriginBytesMax = 1000;
  if (config.model_dir()) identity.origin += (identity.origin.empty() ? "" : ", ") + ("model_dir " + *config.model_dir());
  identity.origin.resize(std::min(identity.origin.size(), kOriginBytesMax));
  return identity;
}

Result<transport::LinkOptions> link_options(const RunConfig& config) {
  std::shared_ptr<const TaskHost> host = config.host();
  if (!host) {
    SHOAL_TRY(host, process_host());
  }
  transport::LinkOptions options;
  options.heartbeat_interval = seconds_to_duration(config.heartbeat_secs());
  options.credential = host->credential;
  options.insecure = host->insecure;
  return options;
}

Result<transport::Endpoint> own_endpoint(const RunConfig& config) {
  const std::string& named = config.rpc_address();
  if (!config.host() || !config.host()->bind) return transport::Endpoint{config.transport(), named};
  const std::string& bind = *config.host()->bind;
  const std::string with_port = bind + named.substr(named.rfind(':'));
  for (const std::string& address : {bind, with_port}) {
    if (cluster::parse_host_port(address)) return transport::Endpoint{config.transport(), address};
  }
  return invalid_argument("--bind: \"" + bind +
                          "\" is neither host nor host:port; an IPv6 address stands in brackets, as [::1]");
}

std::vector<transport::Endpoint> server_endpoints(const RunConfig& config) {
  std::vector<transport::Endpoint> endpoints;
  for (const auto& node : config.cluster().nodes(cluster::kPsRole)) endpoints.push_back({config.transport(), node.address});
  return endpoints;
}

int32_t update_threads(const RunConfig& config, int32_t usable_cores) {
  const int32_t beside_trainers = config.compute_threads(usable_cores);
  if (config.update_strategy().kind != UpdateStrategyKind::kSync) return beside_trainers;
  const int32_t servers_at_most = std::max(1, std::min(config.num_ps_replicas(), config.task().tasks_on_host));
  return std::max(beside_trainers, usable_cores / servers_at_most);
}

namespace {

std::shared_ptr<Environment> make_environment(const RunConfig& config, bool may_handle_signals) {
  const auto& host = config.host();
  if (host && host->environment) return host->environment;
  if (config.own_environment()) return config.own_environment();
  ProductionOptions options;
  options.task = config.task().name();
  options.transports = transports_of(host_of(config), config.runtime());
  // Without servers there are no messages of peers to answer, so computations may run on the strand, the thread of the
  // task's coroutines. This saves two thread switches per step.
  options.offload_inline = config.num_ps_replicas() == 0;
  // Only a parameter server limits its pool of threads: in other tasks the pool also runs input functions.
  if (config.task_type() == cluster::kPsRole) {
    options.process = read_process_info();
    options.pool_threads = update_threads(config, options.process->usable_cores);
  }
  if (host) {
    options.sink = host->sink;
    options.stop = host->stop;
    options.leave = host->leave;
    options.handle_signals = may_handle_signals && host->handle_signals;
    options.terminate_means_leave = config.on_sigterm() == OnSigterm::kLeave;
    options.buffers = host->buffers;
  }
  if (config.log_sink()) options.sink = config.log_sink();
  options.storage = config.storage();
  options.stop_also = config.stop();
  return make_production_environment(std::move(options));
}

}  // namespace

std::shared_ptr<Environment> make_task_environment(const RunConfig& config) { return make_environment(config, true); }
std::shared_ptr<Environment> make_call_environment(const RunConfig& config) { return make_environment(config, false); }

Result<TemporaryModelDir> make_temporary_model_dir(Environment& env, std::shared_ptr<Storage> storage) {
  const std::string& above = env.process().temporary_folder;
  if (!env.storage().exists(above))
    static_cast<void>(env.storage().make_folders(above));  // If this fails, the next call reports the error.
  auto folder = env.storage().make_temporary_folder(join_path(above, "shoal-"));
  if (!folder) return failed_precondition("no temporary model_dir can be made: " + folder.error().message());
  env.log().warning("no model_dir was given; results go to the temporary folder " + *folder);
  struct Remover {
    ~Remover() { static_cast<void>(storage->remove(path)); }  // Fails if there is anything in the folder.
    std::shared_ptr<Storage> storage;
    std::string path;
  };
  if (!storage) storage = make_file_storage();
  return TemporaryModelDir{*folder, std::shared_ptr<const void>(new Remover{std::move(storage), *folder})};
}

StopToken stop_of_program(const RunConfig& config) {
  return config.own_environment() ? config.own_environment()->interrupted() : config.stop();
}

StopToken stop_of_call(const RunConfig& config) {
  return config.host() && config.host()->environment ? StopToken() : stop_of_program(config);
}

RunConfig with_environment(const RunConfig& config, std::shared_ptr<Environment> env) {
  const auto& given = config.host();
  TaskHost host = given ? *given : *value_or_raise(process_host());
  host.environment = std::move(env);
  return config.with_host(std::make_shared<TaskHost>(std::move(host)));
}

}  // namespace shoal
