// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How ssh is called, and what its complaints mean.
#include <string>
#include <string_view>
#include <vector>

#include "launch/hosts/hosts_file.h"
#include "shoal/base/result.h"

namespace shoal::cli::launch {

/// A command like a shell's, as words: blanks part them unless they are quoted by '...' or "...", and a backslash takes the
/// next character as it is. Nothing is expanded. InvalidArgument: a quote does not close, or there is no word.
Result<std::vector<std::string>> words_of(std::string_view text);

/// The command that runs `remote_command` on `host`. `ssh`: the program and options of the user's. No password is asked
/// for, keys of hosts are checked, and a connection that is silent for 20 s is over.
std::vector<std::string> ssh_command(const std::vector<std::string>& ssh, const Host& host,
                                     const std::string& remote_command);

/// What kept ssh from running anything, as a sentence with what to do. `errors`: what it wrote. FailedPrecondition where
/// trying again does not help, else Unavailable.
Error ssh_failure(const std::vector<std::string>& ssh, const Host& host, std::string_view errors);

}  // namespace shoal::cli::launch
