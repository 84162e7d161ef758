// Who a task is to its peers, and where they are.
#include "shoal/cluster/identity.h"
#include "shoal/transport/inproc.h"
#include "shoal/transport/registry.h"
#include "train_task.h"

namespace shoal {

Result<void> check_supported(const RunConfig& config) {
  if (config.replicas() == 1) return {};
  return failed_precondition("runtime.replicas is " + std::to_string(config.replicas()) +
                             "; replicas in one process come with synchronous updates, which this version does not have");
}

cluster::TaskIdentity task_identity(Environment& env, const RunConfig& config) {
  const cluster::TaskConfig& task = config.task();
  cluster::TaskIdentity identity;
  identity.job = cluster::job_text(task.job);
  identity.role = config.task_type();
  identity.index = config.task_id();
  identity.trainer_index = config.trainer_index();
  identity.global_id = uint32_t(config.global_id().value_or(0));
  identity.incarnation = env.entropy() | 1;
  identity.strategy = std::string(to_string(config.update_strategy().kind));
  return identity;
}

Result<transport::LinkOptions> link_options(const RunConfig& config) {
  transport::LinkOptions options;
  if (const auto& host = config.host()) {
    options.credential = host->credential;
    options.insecure = host->insecure;
    return options;
  }
  SHOAL_TRY(options.credential, transport::find_credential({.token = {.file = cluster::process_getenv("SHOAL_TOKEN_FILE"),
                                                                      .text = cluster::process_getenv("SHOAL_TOKEN")},
                                                            .tls_dir = cluster::process_getenv("SHOAL_TLS_DIR")}));
  options.insecure = cluster::process_getenv("SHOAL_INSECURE").value_or("") == "1";
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

namespace {

std::unique_ptr<Environment> make_environment(const RunConfig& config, bool may_handle_signals) {
  ProductionOptions options;
  options.task = config.task().name();
  options.transports = transport::built_in_transports();
  // A task with nobody to talk to computes on the strand: two thread switches less a step.
  options.offload_inline = config.num_ps_replicas() == 0;
  if (const auto& host = config.host()) {
    options.sink = host->sink;
    options.stop = host->stop;
    options.handle_signals = may_handle_signals && host->handle_signals;
    options.buffers = host->buffers;
    for (const auto& [scheme, factory] : host->transports) options.transports.insert_or_assign(scheme, factory);
  }
  return make_production_environment(std::move(options));
}

}  // namespace

std::unique_ptr<Environment> make_task_environment(const RunConfig& config) { return make_environment(config, true); }
std::unique_ptr<Environment> make_inner_environment(const RunConfig& config) { return make_environment(config, false); }

}  // namespace shoal
