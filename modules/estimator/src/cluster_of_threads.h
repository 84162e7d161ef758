// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A whole cluster as threads: one for each task, meeting in one inproc hub.
#include <functional>
#include <vector>

#include "shoal/cluster/cluster_spec.h"
#include "shoal/estimator/run_cluster.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// run_cluster() on a host: what this process lends to the tasks.
std::vector<TaskOutcome> run_cluster_of_threads(const cluster::ClusterSize& size, RunConfigOptions options,
                                                const TaskHost& host, const std::function<void(RunConfig)>& body);

}  // namespace shoal
