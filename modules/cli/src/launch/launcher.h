// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a job, here or on other machines: one process per task, as JobPolicy says.
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
  std::optional<std::string> log_dir{};  ///< The folder of a log file per task; nothing: none.
  PolicyOptions policy{};
  std::optional<HostsOptions> hosts{};  ///< Where it runs; nothing: on this machine.
  bool json = false;                    ///< True: standard output has nothing but the results, as one line of JSON.
  bool table = true;  ///< On a terminal: a table that renews itself, with few lines above, instead of all lines.
};

/// Prints what would be started, and starts nothing: a line per task that a shell takes, with the token left out; with
/// `json` an object per task.
Result<int> print_plan(Context& context, const LaunchOptions& options);

/// Whether run_job() shows a table: where standard error is a terminal, and nothing else of the job's output can come there.
bool shows_table(const Context& context, const LaunchOptions& options);

/// Runs the job to its end. Returns 0 if it succeeded, else the status of the task that made it fail. Errors: those of find_program() and of the
/// cluster's description, and those of RemoteHosts::prepare(), before anything is started; Unavailable: this machine lacks
/// ports, processes or files.
Result<int> run_job(Context& context, const LaunchOptions& options);

}  // namespace shoal::cli::launch
