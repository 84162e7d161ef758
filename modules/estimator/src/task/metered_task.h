// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Adds a task to the endpoint for monitoring systems (RunConfigOptions::metrics). A process opens one endpoint, which
/// shows each task for as long as it runs.
#include <memory>

#include "shoal/estimator/run_config.h"
#include "shoal/monitor/metrics_endpoint.h"

namespace shoal {

/// The number of the task in its job, in the order of `shoal launch`: chief or master, parameter servers, workers,
/// evaluator. If a role lists only some indexes, its tasks are still numbered without gaps. 0 without a cluster.
int32_t number_in_job(const cluster::TaskConfig& task);

/// Opens the endpoint at the address `metrics`; null if that is None. `host` supplies the process's credential. Errors:
/// those of start_metrics_endpoint(); FailedPrecondition: an address beyond this machine without a token or certificate.
Result<std::shared_ptr<monitor::MetricsEndpoint>> open_metrics_endpoint(const std::optional<std::string>& metrics,
                                                                        const TaskHost& host, Logger& log);

/// Opens the monitoring endpoint of a process that runs one task. Its port is the configured one or, if other tasks of the
/// job may run on this machine, the configured one plus the task's number in the job. An evaluator has no address to
/// compare: it counts as sharing the machine in launched jobs, and if all addresses of the job are loopback addresses.
/// InvalidArgument if no port has the resulting number.
Result<std::shared_ptr<monitor::MetricsEndpoint>> open_own_metrics_endpoint(const RunConfig& config, const TaskHost& host,
                                                                            Logger& log);

/// While this object lives, the monitoring endpoint of the process shows the task.
class MeteredTask {
 public:
  /// `config` has a TaskHost whose environment is `env`. Opens an endpoint if the config asks for one and the process has
  /// none yet.
  static Result<std::unique_ptr<MeteredTask>> begin(const RunConfig& config, Environment& env);
  ~MeteredTask();
  MeteredTask(const MeteredTask&) = delete;
  MeteredTask& operator=(const MeteredTask&) = delete;

  /// The config with a TaskHost that holds the task's meters; unchanged if there is no endpoint.
  const RunConfig& config() const { return config_; }

 private:
  explicit MeteredTask(RunConfig config) : config_(std::move(config)) {}

  RunConfig config_;
  std::shared_ptr<monitor::TaskMeters> meters_;  // Null: no endpoint.
};

/// Sets the phase of a task; its destructor restores the previous phase.
class MeteredPhase {
 public:
  /// If `meters` is null, because there is no endpoint, does nothing.
  MeteredPhase(monitor::TaskMeters* meters, monitor::TaskPhase phase) : meters_(meters) {
    if (!meters_) return;
    before_ = meters_->phase();
    meters_->set_phase(phase);
  }
  ~MeteredPhase() {
    if (meters_) meters_->set_phase(before_);
  }
  MeteredPhase(const MeteredPhase&) = delete;
  MeteredPhase& operator=(const MeteredPhase&) = delete;

 private:
  monitor::TaskMeters* const meters_;
  monitor::TaskPhase before_ = monitor::TaskPhase::kStarting;
};

}  // namespace shoal
