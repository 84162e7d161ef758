// SPDX-License-Identifier: Apache-2.0
#include "launch/metrics_ports.h"

#include "shoal/monitor/metrics_endpoint.h"

namespace shoal::cli::launch {

Result<std::optional<std::string>> metrics_line(const ProgramCommand& command, std::span<const JobTask> tasks) {
  std::optional<std::string> given = command.value("--metrics");
  if (!given) given = command.variable("SHOAL_METRICS");
  if (!given) return std::nullopt;
  SHOAL_TRY(monitor::MetricsAddress address, monitor::parse_metrics_address(*given));
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
