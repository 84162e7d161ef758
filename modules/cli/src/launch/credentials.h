// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The token by which the tasks of a job that is launched here authenticate each other: one of the job's own, or the user's.
#include <optional>
#include <span>
#include <string>

#include "launch/job_tasks.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {

/// Makes a token for a job. Nothing if the user has already chosen how tasks authenticate, by an environment variable
/// (SHOAL_TOKEN, SHOAL_TOKEN_FILE, SHOAL_TLS_DIR, SHOAL_INSECURE) or a flag of the program (--token-file, --tls-dir,
/// --insecure), or if this build cannot encrypt (tasks that connect over the loopback need no token).
std::optional<std::string> token_for_job(std::span<const std::string> command, const cluster::GetEnv& look_up);

/// A command, and the variables that its process gets beside those of this process's environment.
struct CommandWithToken {
  std::vector<std::string> command;
  std::vector<Variable> variables{};
};

/// Reads the user's token file, which --token-file or SHOAL_TOKEN_FILE names, for tasks on this machine. Returns the command
/// without this flag, and the token in SHOAL_TOKEN. So a task that is started again has the token of the others, even if the
/// file has changed or is gone. Returns `command` unchanged if there is no such file (the program may change its folder before
/// it looks for the file, and says what is missing), if `env` clears the program's environment, or if this build has no
/// tokens. Other errors: those of transport::find_token().
Result<CommandWithToken> read_token_of_user(std::vector<std::string> command, const cluster::GetEnv& look_up);

/// Replaces SHOAL_TOKEN_FILE, which names a file of this machine, by SHOAL_TOKEN, the token itself, for tasks on other
/// machines. Returns the errors of transport::find_token().
Result<std::vector<Variable>> with_token_read(std::vector<Variable> variables);

}  // namespace shoal::cli::launch
