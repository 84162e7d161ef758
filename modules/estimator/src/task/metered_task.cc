// SPDX-License-Identifier: Apache-2.0
#include "task/metered_task.h"

#include "shoal/backends/backend.h"
#include "shoal/estimator/task_host.h"
#include "shoal/monitor/metrics_endpoint.h"
#include "shoal/transport/scrape_access.h"
#include "shoal/transport/transport.h"
#include "task/metering_observer.h"
#include "task/task_network.h"

namespace shoal {
namespace {

Result<monitor::MetricsGate> gate_of(const TaskHost& host, const std::string& address) {
  if (!host.credential) {
    return failed_precondition("metrics " + address +
                               ": is beyond this machine, where anyone who reaches the port could read: give the job a "
                               "token (shoal keys token, then "
                               "SHOAL_TOKEN or --token-file) or certificates (--tls-dir), or listen on this machine alone, "
                               "as with --metrics 9400");
  }
  SHOAL_TRY(transport::ScrapeAccess access, transport::scrape_access(*host.credential));
  return monitor::MetricsGate{.certificate = std::move(access.own.certificate),
                              .key = access.own.key.text(),
                              .bearer = access.bearer.text(),
                              .authorities = std::move(access.authorities)};
}

std::string opened_text(const monitor::MetricsAddress& address, const TaskHost& host) {
  const std::string at = to_string(address) + "/metrics and /healthz";
  if (monitor::is_loopback(address)) return "monitoring systems of this machine may ask http://" + at;
  const bool by_token = std::holds_alternative<transport::Token>(*host.credential);
  return "monitoring systems may ask https://" + at + " with " +
         (by_token ? "the secret that shoal keys metrics prints" : "a certificate of the job's CA");
}

monitor::TaskLabels labels_of(const RunConfig& config) {
  const cluster::TaskConfig& task = config.task();
  monitor::TaskLabels labels;
  if (task.mode != cluster::TaskMode::kLocal) {
    labels.role = task.type;
    labels.index = task.index;
  }
  if (config.task_type() != cluster::kPsRole) labels.backend = config.backend().value_or(backends::default_backend());
  return labels;
}

/// The functions of the task that the thread of the metrics endpoint may call.
monitor::TaskAccess access_to(const RunConfig& config, Environment& env) {
  monitor::TaskAccess access{.post = [&env](Work work) { env.post(std::move(work)); }, .wire = {}};
  if (config.num_ps_replicas() == 0) return access;
  const Result<transport::Transport*> transport = env.transport(config.transport());
  if (!transport) return access;  // No such transport: the code that opens a connection will report that.
  access.wire = [wire = *transport] {
    const transport::TransportStats stats = wire->stats();
    return monitor::TaskAccess::WireBytes{.sent = stats.bytes_sent, .received = stats.bytes_received};
  };
  return access;
}

/// True if other processes of the job may run on this machine, each with a metrics endpoint of its own. Tasks that are
/// threads of one process share one endpoint.
bool shares_machine(const cluster::TaskConfig& task) {
  if (task.in_process) return false;
  return task.tasks_on_host > 1 || task.launched;
}

}  // namespace

int32_t number_in_job(const cluster::TaskConfig& task) {
  if (task.mode == cluster::TaskMode::kLocal) return 0;
  const int32_t servers = int32_t(task.job.nodes(cluster::kPsRole).size());
  const int32_t position = task.job.position(task.type, task.index).value_or(task.index);
  if (task.type == cluster::kPsRole) return 1 + position;
  if (task.type == cluster::kWorkerRole) return 1 + servers + position;
  if (task.type == cluster::kEvaluatorRole) return 1 + servers + int32_t(task.job.nodes(cluster::kWorkerRole).size());
  return 0;
}

Result<std::shared_ptr<monitor::MetricsEndpoint>> open_metrics_endpoint(const std::optional<std::string>& metrics,
                                                                        const TaskHost& host, Logger& log) {
  if (!metrics) return std::shared_ptr<monitor::MetricsEndpoint>();
  SHOAL_TRY(const monitor::MetricsAddress address, monitor::parse_metrics_address(*metrics));
  const auto gate = [&host, shown = to_string(address)] { return gate_of(host, shown); };
  SHOAL_TRY(auto endpoint, monitor::start_metrics_endpoint({.address = address, .gate = gate, .version = SHOAL_VERSION}));
  log.info(opened_text(endpoint->address(), host));
  return endpoint;
}

Result<std::shared_ptr<monitor::MetricsEndpoint>> open_own_metrics_endpoint(const RunConfig& config, const TaskHost& host,
                                                                            Logger& log) {
  if (!config.metrics()) return std::shared_ptr<monitor::MetricsEndpoint>();
  SHOAL_TRY(monitor::MetricsAddress address, monitor::parse_metrics_address(*config.metrics()));
  if (shares_machine(config.task()) && address.port != 0) {
    const int32_t number = number_in_job(config.task()), port = int32_t(address.port) + number;
    if (port > 65535) {
      return invalid_argument("metrics " + *config.metrics() + ": this task listens " + std::to_string(number) +
                              " ports above, and there is no port " + std::to_string(port) + "; give a lower one");
    }
    address.port = uint16_t(port);
  }
  return open_metrics_endpoint(to_string(address), host, log);
}

Result<std::unique_ptr<MeteredTask>> MeteredTask::begin(const RunConfig& config, Environment& env) {
  std::unique_ptr<MeteredTask> task(new MeteredTask(config));
  std::shared_ptr<monitor::MetricsEndpoint> endpoint = host_of(config).metrics_endpoint;
  if (!endpoint) {
    SHOAL_TRY(endpoint, open_own_metrics_endpoint(config, host_of(config), env.log()));
  }
  if (!endpoint) return task;
  task->meters_ = endpoint->registry().add(labels_of(config));
  task->meters_->set_phase(monitor::TaskPhase::kStarting);
  task->meters_->attach(access_to(config, env));
  auto host = std::make_shared<TaskHost>(host_of(config));
  host->metrics_endpoint = std::move(endpoint);
  host->meters = task->meters_;
  host->observer = std::make_shared<MeteringObserver>(task->meters_, host->observer);
  task->config_ = config.with_host(std::move(host));
  return task;
}

MeteredTask::~MeteredTask() {
  if (!meters_) return;
  meters_->detach();
  meters_->set_phase(monitor::TaskPhase::kEnded);
}

}  // namespace shoal
