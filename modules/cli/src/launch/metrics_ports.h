// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the tasks of a job answer monitoring systems, if their program is told to (--metrics).
#include <optional>
#include <span>
#include <string>

#include "launch/job_tasks.h"
#include "launch/program_command.h"

namespace shoal::cli::launch {

/// One line for people: "metrics: chief 0 at 127.0.0.1:9400, and each further task one port above, up to evaluator 0 at 127.0.0.1:9403".
/// Nothing where the command says nothing of metrics. InvalidArgument: what it says is no address, or there are not enough ports above.
Result<std::optional<std::string>> metrics_line(const ProgramCommand& command, std::span<const JobTask> tasks);

}  // namespace shoal::cli::launch
