// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides whether a job that is launched here gets a token of its own, by which its tasks authenticate each other.
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

/// Replaces SHOAL_TOKEN_FILE, which names a file of this machine, by SHOAL_TOKEN, the token itself, for tasks on other
/// machines. Returns the errors of transport::find_token().
Result<std::vector<Variable>> with_token_read(std::vector<Variable> variables);

}  // namespace shoal::cli::launch
