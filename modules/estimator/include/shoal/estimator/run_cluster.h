// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a whole cluster as threads of this process, for tests and for programs that need no further processes.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/std_function.h"
#include "shoal/base/stop.h"
#include "shoal/cluster/cluster_spec.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_report.h"

namespace shoal {

struct ClusterRunOptions {
  /// The configuration that all tasks share. If `model_dir` is not set, all tasks use one new temporary folder.
  RunConfigOptions config = {};
  /// True: until the call returns, SIGINT, SIGTERM and SIGHUP end the job cleanly. With RunConfigOptions::on_sigterm
  /// kLeave, SIGTERM and SIGHUP instead make each task save and end with an error of kind Cancelled.
  bool handle_signals = false;
  StopToken stop = {};  ///< A stop request on this token ends the job, as an interrupt does.
};

struct TaskOutcome {
  std::string task;  ///< The name of the task, such as "worker 1".
  std::string role;  ///< chief, master, ps, worker or evaluator.
  int32_t index = 0;
  Result<void> result = {};  ///< The exception that `body` threw, as an error; success if it threw none.
  /// The report of the last train_and_evaluate() in `body`; empty if that failed or was not called.
  TaskReport report = {};
};

/// Calls `body` once per task, each on a thread of its own with its own RunConfig, and returns when all have ended. The
/// outcomes have the order chief (or master), ps, workers, evaluator. Make what belongs to one task (the Estimator, hooks,
/// exporters) inside `body`, and only read what the tasks share. If a task fails, the others go on; if the chief fails, the
/// others are stopped, since the job cannot end without it. No thread outlives the call. Several clusters may run at the
/// same time, in different `model_dir`s. Raises InvalidArgument for an impossible size or impossible options, and for a
/// transport that can reach other machines.
std::vector<TaskOutcome> run_cluster(const cluster::ClusterSize& size, const std::function<void(RunConfig)>& body,
                                     ClusterRunOptions options = {});

}  // namespace shoal
