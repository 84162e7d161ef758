#pragma once
/// A whole cluster as threads of this process (CONTRACT 8.8): one thread per task, meeting in one inproc hub.
#include <functional>
#include <vector>

#include "shoal/cluster/cluster_spec.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

struct TaskOutcome {
  std::string task;  ///< The name of the task, such as "worker 1".
  Result<void> result;
};

/// Calls `body` once per task, each on its own thread with its own RunConfig, and returns when all have ended: outcomes
/// in the order chief, ps, workers, evaluator. A task that fails leaves the others running, but for the chief: without
/// it the job cannot end, so the others are stopped. `options.model_dir` None: all share one fresh temporary folder.
/// SIGINT and SIGTERM stop the job cleanly if `host.handle_signals`.
std::vector<TaskOutcome> run_cluster_of_threads(const cluster::ClusterSize& size, RunConfigOptions options,
                                                const TaskHost& host, const std::function<void(RunConfig)>& body);

}  // namespace shoal
