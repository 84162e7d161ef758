// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A whole cluster as threads of this process (CONTRACT 8.8), for tests and for programs of their own.
///
///   const auto outcomes = shoal::run_cluster({.ps = 2, .workers = 2, .evaluator = true}, [&](shoal::RunConfig config) {
///     shoal::Estimator estimator(model, config);
///     shoal::train_and_evaluate(estimator, train_spec, eval_spec);
///   }, {.config = {.model_dir = "m"}});
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
  /// What the tasks have in common. `model_dir` None: all share one fresh temporary folder.
  RunConfigOptions config = {};
  /// True: SIGINT, SIGTERM and SIGHUP end the job cleanly, until the call returns; with RunConfigOptions::on_sigterm
  /// kLeave, the last two make all tasks give way, and the outcome of each is an error of kind Cancelled.
  bool handle_signals = false;
  StopToken stop = {};  ///< A request on it ends the job, as an interrupt does.
};

struct TaskOutcome {
  std::string task;  ///< The name of the task, such as "worker 1".
  std::string role;  ///< chief, master, ps, worker or evaluator.
  int32_t index = 0;
  Result<void> result = {};  ///< What `body` threw, where it did.
  TaskReport report = {};    ///< Of the last train_and_evaluate() in it; empty where it failed or called none.
};

/// Calls `body` once per task, each on a thread of its own with its own RunConfig, and returns when all have ended:
/// outcomes in the order chief (or master), ps, workers, evaluator. So what belongs to one task (the Estimator, hooks,
/// exporters) is made inside, and what is shared is only read. A task that fails leaves the others running, but for the
/// chief: without it the job cannot end, so the others are stopped. No thread outlives the call. Several clusters may run
/// at the same time, in different `model_dir`s. Raises InvalidArgument for a size or options that cannot be, and for a
/// transport that goes beyond this machine.
std::vector<TaskOutcome> run_cluster(const cluster::ClusterSize& size, const std::function<void(RunConfig)>& body,
                                     ClusterRunOptions options = {});

}  // namespace shoal
