// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/metrics_text.h"

#include <cmath>

#include "shoal/base/format.h"

namespace shoal::monitor {

std::string format_metrics(const std::map<std::string, double>& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) {
    const bool whole = std::isfinite(value) && value == std::floor(value) && std::fabs(value) < 1e15;
    text += (text.empty() ? "" : ", ") + name + " = " + (whole ? formatted("%.0f", value) : formatted("%.7g", value));
  }
  return text;
}

}  // namespace shoal::monitor
