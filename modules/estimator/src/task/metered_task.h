// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A task at the endpoint for monitoring systems (RunConfigOptions::metrics): its process opens one, and each task is there as long as
/// it runs.
#include <memory>

#include "shoal/estimator/run_config.h"
#include "shoal/monitor/metrics_endpoint.h"

namespace shoal {

/// The task's number in its job, in the order of `shoal launch`: chief or master, parameter servers, workers, evaluator; nodes that are
/// listed sparsely count without gaps. 0 without a cluster.
int32_t number_in_job(const cluster::TaskConfig& task);

/// Opens the endpoint that `config` asks for. `host`: of the process; it says the credential. Null: nothing is asked for. Errors: those of
/// start_metrics_endpoint(); FailedPrecondition: an address beyond this machine without a token or certificate.
Result<std::shared_ptr<monitor::MetricsEndpoint>> open_metrics_endpoint(const std::optional<std::string>& metrics,
                                                                        const TaskHost& host, Logger& log);

/// The same of the one task of a process. Tasks that share a machine are all told one port: each listens its number in the job above. An
/// evaluator, of which a cluster description says no machine, shares one in launched jobs, and where all addresses are of the loopback.
/// InvalidArgument: there is no such port.
Result<std::shared_ptr<monitor::MetricsEndpoint>> open_own_metrics_endpoint(const RunConfig& config, const TaskHost& host,
                                                                            Logger& log);

/// While it lives, the endpoint of the process shows the task.
class MeteredTask {
 public:
  /// `config` has a host with the environment `env`. Opens an endpoint where the config asks for one and its process has none yet.
  static Result<std::unique_ptr<MeteredTask>> begin(const RunConfig& config, Environment& env);
  ~MeteredTask();
  MeteredTask(const MeteredTask&) = delete;
  MeteredTask& operator=(const MeteredTask&) = delete;

  /// `config` with a host that has the meters; the same as before where nobody asks for them.
  const RunConfig& config() const { return config_; }

 private:
  explicit MeteredTask(RunConfig config) : config_(std::move(config)) {}

  RunConfig config_;
  std::shared_ptr<monitor::TaskMeters> meters_;  // Null: nobody looks.
};

/// The phase of a task while this lives; then the one before.
class MeteredPhase {
 public:
  /// `meters`: null where nobody looks.
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
