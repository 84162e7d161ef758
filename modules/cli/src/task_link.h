// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What commands need to connect to running tasks: a secret (a token or a certificate), and an Environment.
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::arguments {
class Command;
}

namespace shoal::cli {

struct LinkArguments {
  std::optional<std::string> token_file{}, tls_dir{};
  bool insecure = false;
};
/// Adds the options --token-file, --tls-dir and --insecure. `arguments` outlives the parsing.
void add_link_options(arguments::Command& app, LinkArguments& arguments);
/// Reads the secret that the options name. If they name none, uses the variables SHOAL_TOKEN_FILE, SHOAL_TOKEN,
/// SHOAL_TLS_DIR and SHOAL_INSECURE, as tasks do.
Result<transport::LinkOptions> link_from(const LinkArguments& arguments);

/// Makes an environment that has all transports of the build and logs nothing.
std::unique_ptr<Environment> quiet_environment();

}  // namespace shoal::cli
