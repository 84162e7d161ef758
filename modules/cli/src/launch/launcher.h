// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a job, here or on other machines, with one process per task. JobPolicy decides about starts and ends.
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "launch/hosts/remote_hosts.h"
#include "launch/policy.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

struct LaunchOptions {
  cluster::ClusterSize size;
  JobCommand command;
  std::optional<std::string> log_dir{};  ///< The folder for one log file per task; nothing: no log files.
  PolicyOptions policy{};
  std::optional<HostsOptions> hosts{};  ///< The hosts that run the job; nothing: this machine.
  bool json = false;                    ///< True: standard output has nothing but the results, as one line of JSON.
  bool table = true;  ///< True: a terminal shows a table of the tasks and only important lines; false: all lines.
};

/// Prints the commands that run_job() would start, and starts nothing: one shell command per task, without the token; with
/// `json` one object per task.
Result<int> print_plan(Context& context, const LaunchOptions& options);

/// True if run_job() shows a table: if standard error is a terminal that no other output of the job can reach.
bool shows_table(const Context& context, const LaunchOptions& options);

/// Runs the job to its end. Returns 0 if it succeeded, else the status of the task that made it fail. Errors before
/// anything is started: those of find_program(), of the cluster's description and of RemoteHosts::prepare(). Unavailable:
/// this machine lacks ports, processes or files.
Result<int> run_job(Context& context, const LaunchOptions& options);

}  // namespace shoal::cli::launch
