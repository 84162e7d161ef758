#include "shoal/monitor/metrics_text.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace shoal::monitor {

std::string format_metrics(const std::map<std::string, double>& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) {
    const bool whole = std::isfinite(value) && value == std::floor(value) && std::fabs(value) < 1e15;
    std::array<char, 40> number{};
    std::snprintf(number.data(), number.size(), whole ? "%.0f" : "%.7g", value);
    text += (text.empty() ? "" : ", ") + name + " = " + number.data();
  }
  return text;
}

}  // namespace shoal::monitor
