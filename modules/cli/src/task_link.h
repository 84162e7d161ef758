// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How commands reach running tasks: with which secret, and by what environment.
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace CLI {
class App;
}

namespace shoal::cli {

struct LinkArguments {
  std::optional<std::string> token_file{}, tls_dir{};
  bool insecure = false;
};
/// The options --token-file, --tls-dir and --insecure; `arguments` outlives the parsing.
void add_link_options(CLI::App& app, LinkArguments& arguments);
/// The secret that the options name, else the variables SHOAL_TOKEN_FILE, SHOAL_TOKEN, SHOAL_TLS_DIR and SHOAL_INSECURE, which tasks
/// heed, too.
Result<transport::LinkOptions> link_from(const LinkArguments& arguments);

/// An environment with all transports of the build, which logs nothing.
std::unique_ptr<Environment> quiet_environment();

}  // namespace shoal::cli
