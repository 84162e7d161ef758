// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds secrets among the words of a command. The files of --emit are kept in repositories, and everybody who may look at
/// a job can read them.
#include <span>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::cli::launch {

/// InvalidArgument if a word holds a secret. The error names the kind of secret without showing it. Secrets are: the token
/// of a job; a private key; an address with a password in it; and the value of a variable or flag whose name tells that it
/// is a secret (AWS_SECRET_ACCESS_KEY=, --api-key, --param password=), unless the value is "$...". Secrets are also found
/// inside longer words, such as the script of sh -c. `way_out`: advice for the end of the error's message.
Result<void> check_no_secrets(std::span<const std::string> words, std::string_view way_out);

/// Whether the name of a variable or flag says that it holds a secret itself, rather than, say, the name of a file.
bool names_a_secret(std::string_view name);

}  // namespace shoal::cli::launch
