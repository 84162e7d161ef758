// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the addresses at which a job's tasks answer monitoring systems, if --metrics or SHOAL_METRICS asks for that.
#include <optional>
#include <span>
#include <string>

#include "launch/job_tasks.h"
#include "launch/program_command.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {

/// Returns the address for metrics: the value of --metrics if the command has this flag, else of SHOAL_METRICS. The command
/// may set this variable itself (`env SHOAL_METRICS=...`), or inherit it (`look_up`).
std::optional<std::string> given_metrics(const ProgramCommand& command, const cluster::GetEnv& look_up);

/// Returns a line for people: "metrics: chief 0 at 127.0.0.1:9400, and each further task one port above, up to evaluator 0
/// at 127.0.0.1:9403"; nothing if given_metrics() finds no address. InvalidArgument: the address is malformed; it has too
/// few ports above it; or other machines can reach it and the user has chosen no token. (The monitoring system needs a
/// secret that is derived from the job's token. A token that the launcher generates is known to the tasks alone, so
/// nobody could derive that secret.)
Result<std::optional<std::string>> metrics_line(std::span<const std::string> command, std::span<const JobTask> tasks,
                                                const cluster::GetEnv& look_up);

}  // namespace shoal::cli::launch
