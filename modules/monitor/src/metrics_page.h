// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes the page /metrics in Prometheus' text format, version 0.0.4.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "process_meters.h"
#include "shoal/monitor/task_meters.h"

namespace shoal::monitor {

inline constexpr std::string_view kMetricsPageType = "text/plain; version=0.0.4; charset=utf-8";

struct MetricsPageFacts {
  std::string version;  ///< Shoal's version.
  std::span<const std::shared_ptr<TaskMeters>> tasks;
  std::optional<ProcessMeters> process;
};

/// Every line ends in "\n". Unknown values (such as a loss before the first step) are left out.
std::string metrics_page(const MetricsPageFacts& facts);

/// Escapes a label's value: backslash, quotation mark and line end get a backslash, and bytes that are not UTF-8 become
/// "?".
std::string escaped_label(std::string_view value);
/// Formats a number: "NaN", "+Inf", "-Inf", or the shortest text that reads back to the same number.
std::string sample_value(double value);

}  // namespace shoal::monitor
