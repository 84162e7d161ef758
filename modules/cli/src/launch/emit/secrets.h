// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Secrets among the words of a command. A manifest lies in repositories, and whoever may look at a job reads it.
#include <span>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::cli::launch {

/// InvalidArgument if a word holds a secret, which the sentence names and does not show: a job's token; a private key; an
/// address with a password in it; a value other than "$..." of a variable or flag whose name says that it is a secret
/// (AWS_SECRET_ACCESS_KEY=, --api-key, --param password=), also inside of a word, as that of sh -c. `way_out`: what to do
/// instead.
Result<void> check_no_secrets(std::span<const std::string> words, std::string_view way_out);

/// Whether a variable or flag of this name holds a secret, and not the name of a file, say.
bool names_a_secret(std::string_view name);

}  // namespace shoal::cli::launch
