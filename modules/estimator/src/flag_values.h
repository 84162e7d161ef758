// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What flags mean: the configuration of a program's tasks, their host, and the values of the program's own flags.
#include "flags.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// The command line for the program's body: with the values of its own flags, each of the type of its default.
CommandLine command_line(const ProgramInfo& program, const ParsedFlags& flags);
/// InvalidArgument naming SHOAL_ON_SIGTERM, if that decides and is wrong.
Result<RunConfigOptions> run_config_options(const ProgramInfo& program, const ParsedFlags& flags);
/// The host of this process's tasks, but for where they report. Errors: those of find_credential() and process_shoal_run().
Result<TaskHost> task_host(const ParsedFlags& flags);

}  // namespace shoal
