// SPDX-License-Identifier: Apache-2.0
#include "launch/metrics_ports.h"

#include "launch/credentials.h"
#include "shoal/monitor/metrics_endpoint.h"

namespace shoal::cli::launch {

std::optional<std::string> given_metrics(const ProgramCommand& command, const cluster::GetEnv& look_up) {
  constexpr const char* kVariable = "SHOAL_METRICS";
  if (command.flag("--metrics")) return command.value("--metrics");
  std::optional<std::string> variable = command.variable(kVariable);
  if (!variable) variable = look_up(kVariable);
  return variable && variable->empty() ? std::nullopt : variable;
}

Result<std::optional<std::string>> metrics_line(std::span<const std::string> command, std::span<const JobTask> tasks,
                                                const cluster::GetEnv& look_up) {
  const std::optional<std::string> given = given_metrics(read_command(command), look_up);
  if (!given) return std::nullopt;
  SHOAL_TRY(monitor::MetricsAddress address, monitor::parse_metrics_address(*given));
  if (!monitor::is_loopback(address) && token_for_job(command, look_up)) {
    return invalid_argument(
        "metrics " + *given +
        ": is beyond this machine, and the token that shoal launch would draw for this job is known to its tasks "
        "alone, so no monitoring system could be given the secret: make the token yourself, by shoal keys token "
        "--out job.token, and set SHOAL_TOKEN_FILE=job.token");
  }
  if (address.port == 0) return "metrics: each task at a free port of " + address.host + ", which its log names";
  const size_t last = size_t(address.port) + tasks.size() - 1;
  if (last > 65535) {
    return invalid_argument("metrics " + *given + ": " + std::to_string(tasks.size()) + " tasks take as many ports from " +
                            std::to_string(address.port) + " on, and the last one is 65535; give a lower port");
  }
  std::string line = "metrics: " + tasks.front().name + " at " + to_string(address);
  if (tasks.size() == 1) return line;
  address.port = uint16_t(last);
  return line + ", and each further task one port above, up to " + tasks.back().name + " at " + to_string(address);
}

}  // namespace shoal::cli::launch
