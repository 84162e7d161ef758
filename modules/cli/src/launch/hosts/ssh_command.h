// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Builds ssh commands, and explains ssh's complaints.
#include <string>
#include <string_view>
#include <vector>

#include "launch/hosts/hosts_file.h"
#include "shoal/base/result.h"

namespace shoal::cli::launch {

/// Splits a command into words as a shell does: at blanks, unless '...' or "..." quote them; a backslash takes the next
/// character as it is. Nothing is expanded. InvalidArgument: an open quote, or no word.
Result<std::vector<std::string>> words_of(std::string_view text);

/// The command that runs `remote_command` on `host`. `ssh`: the user's ssh program and its options. No password is asked
/// for, host keys are checked, and a connection that is silent for 20 s is cut.
std::vector<std::string> ssh_command(const std::vector<std::string>& ssh, const Host& host,
                                     const std::string& remote_command);

/// Explains in a sentence, with advice, why ssh could not run anything. `errors`: ssh's standard error. FailedPrecondition
/// if a second try would not help, else Unavailable.
Error ssh_failure(const std::vector<std::string>& ssh, const Host& host, std::string_view errors);

}  // namespace shoal::cli::launch
