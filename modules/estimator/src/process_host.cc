// What a process says of itself by its environment variables, where no program has looked at them.
#include "shoal/cluster/tf_config.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

Result<std::shared_ptr<const TaskHost>> process_host() {
  auto host = std::make_shared<TaskHost>();
  const transport::CredentialSources sources{.token = {.file = cluster::process_getenv("SHOAL_TOKEN_FILE"),
                                                       .text = cluster::process_getenv("SHOAL_TOKEN")},
                                             .tls_dir = cluster::process_getenv("SHOAL_TLS_DIR")};
  SHOAL_TRY(host->credential, transport::find_credential(sources, std::chrono::system_clock::now()));
  host->insecure = cluster::process_getenv("SHOAL_INSECURE").value_or("") == "1";
  return std::shared_ptr<const TaskHost>(std::move(host));
}

}  // namespace shoal
