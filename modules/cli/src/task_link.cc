// SPDX-License-Identifier: Apache-2.0
#include "task_link.h"

#include "shoal/arguments/command.h"
#include "shoal/base/production.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/transport/registry.h"

namespace shoal::cli {

void add_link_options(arguments::Command& app, LinkArguments& arguments) {
  app.add("--token-file", arguments.token_file, "File that holds the job's token; or set SHOAL_TOKEN_FILE, SHOAL_TOKEN")
      .path("FILE");
  app.add("--tls-dir", arguments.tls_dir,
          "Instead of a token: folder of a certificate of the job, of any task; or set SHOAL_TLS_DIR")
      .path("FOLDER");
  app.add_switch("--insecure", arguments.insecure,
                 "Without a token or certificate: allow plain tcp to other machines; or set SHOAL_INSECURE=1");
}

Result<transport::LinkOptions> link_from(const LinkArguments& arguments) {
  const auto or_variable = [](std::optional<std::string> given, const char* name) {
    if (!given) given = cluster::process_getenv(name);
    return given && given->empty() ? std::nullopt : given;  // Empty counts as unset, since shells export empty variables.
  };
  const transport::CredentialSources sources{
      .token = {.file = or_variable(arguments.token_file, "SHOAL_TOKEN_FILE"), .text = or_variable({}, "SHOAL_TOKEN")},
      .tls_dir = or_variable(arguments.tls_dir, "SHOAL_TLS_DIR")};
  transport::LinkOptions link;
  SHOAL_TRY(link.credential, transport::find_credential(sources, read_wall_clock()));
  link.insecure = arguments.insecure || cluster::process_getenv("SHOAL_INSECURE").value_or("") == "1";
  return link;
}

std::unique_ptr<Environment> quiet_environment() {
  ProductionOptions options;
  options.sink = [](const LogRecord&) {};
  options.transports = transport::built_in_transports();
  options.pool_threads = 1;
  options.spin = Duration::zero();
  return make_production_environment(std::move(options));
}

}  // namespace shoal::cli
