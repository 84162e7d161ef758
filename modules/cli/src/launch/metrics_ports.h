// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the tasks of a job answer monitoring systems, if their program is told to (--metrics, SHOAL_METRICS).
#include <optional>
#include <span>
#include <string>

#include "launch/job_tasks.h"
#include "launch/program_command.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {

/// What the command says of metrics: its flag, else the variable that it sets, else the one that it inherits (`look_up`).
std::optional<std::string> given_metrics(const ProgramCommand& command, const cluster::GetEnv& look_up);

/// One line for people: "metrics: chief 0 at 127.0.0.1:9400, and each further task one port above, up to evaluator 0 at 127.0.0.1:9403".
/// `command`: its words. Nothing where they say nothing of metrics. InvalidArgument: what they say is no address, there are not enough
/// ports above, or the address is beyond this machine and the launcher would draw the job's token, from which nobody else could make the
/// secret of the monitoring system.
Result<std::optional<std::string>> metrics_line(std::span<const std::string> command, std::span<const JobTask> tasks,
                                                const cluster::GetEnv& look_up);

}  // namespace shoal::cli::launch
