// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether a job that is launched here gets a token of its own, by which its tasks know each other.
#include <optional>
#include <span>
#include <string>

#include "launch/job_tasks.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {

/// A fresh token; nothing if the user has seen to it, by an environment variable (SHOAL_TOKEN, SHOAL_TOKEN_FILE,
/// SHOAL_TLS_DIR, SHOAL_INSECURE) or a flag of the program (--token-file, --tls-dir, --insecure), or if this build encrypts
/// nothing: the loopback alone needs no token.
std::optional<std::string> token_for_job(std::span<const std::string> command, const cluster::GetEnv& look_up);

/// For tasks on other machines: `variables` with the token itself in place of SHOAL_TOKEN_FILE, a file of this machine. The
/// errors of transport::find_token().
Result<std::vector<Variable>> with_token_read(std::vector<Variable> variables);

}  // namespace shoal::cli::launch
