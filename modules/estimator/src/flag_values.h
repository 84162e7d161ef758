// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns parsed flags into the tasks' configuration, their TaskHost (what the process provides) and the program's flags.
#include "flags.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

/// Returns the command line that the program's own code (ProgramBody) gets. The value of each flag that the program defines
/// has the type of the flag's default.
CommandLine command_line(const ProgramInfo& program, const ParsedFlags& flags);
/// The configuration that the flags ask for. InvalidArgument, naming SHOAL_ON_SIGTERM, if there is no flag --on-sigterm
/// and this variable has an invalid value.
Result<RunConfigOptions> run_config_options(const ProgramInfo& program, const ParsedFlags& flags);
/// Returns the TaskHost: what this process provides to its tasks. The caller sets TaskHost::report. Errors: those of
/// find_credential() and process_shoal_run().
Result<TaskHost> task_host(const ParsedFlags& flags);

}  // namespace shoal
