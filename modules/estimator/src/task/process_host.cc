// SPDX-License-Identifier: Apache-2.0
// Makes the TaskHost for a process whose program does not call run(), from environment variables.
#include <algorithm>

#include "shoal/cluster/tf_config.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

Result<std::string> process_shoal_run() {
  constexpr size_t kBytesMax = 200;
  std::string run = cluster::process_getenv("SHOAL_RUN").value_or("");
  const bool printable = std::all_of(run.begin(), run.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (printable && run.size() <= kBytesMax) return run;
  return invalid_argument("SHOAL_RUN: must be at most " + std::to_string(kBytesMax) + " printable characters of ASCII");
}

Result<std::shared_ptr<const TaskHost>> process_host() {
  auto host = std::make_shared<TaskHost>();
  const transport::CredentialSources sources{
      .token = {.file = cluster::process_getenv("SHOAL_TOKEN_FILE"), .text = cluster::process_getenv("SHOAL_TOKEN")},
      .tls_dir = cluster::process_getenv("SHOAL_TLS_DIR")};
  SHOAL_TRY(host->credential, transport::find_credential(sources, read_wall_clock()));
  host->insecure = cluster::process_getenv("SHOAL_INSECURE").value_or("") == "1";
  SHOAL_TRY(host->shoal_run, process_shoal_run());
  return std::shared_ptr<const TaskHost>(std::move(host));
}

}  // namespace shoal
