// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a whole cluster as threads, one for each task, which connect in memory.
#include <functional>
#include <vector>

#include "shoal/cluster/cluster_spec.h"
#include "shoal/estimator/run_cluster.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Implements run_cluster(). `host` has what all tasks share, such as the log, the transports and the stop tokens.
std::vector<TaskOutcome> run_cluster_of_threads(const cluster::ClusterSize& size, RunConfigOptions options,
                                                const TaskHost& host, const std::function<void(RunConfig)>& body);

}  // namespace shoal
