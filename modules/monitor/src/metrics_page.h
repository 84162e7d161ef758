// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What /metrics answers: Prometheus' text format, version 0.0.4.
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
  std::string version;  ///< Of Shoal.
  std::span<const std::shared_ptr<TaskMeters>> tasks;
  std::optional<ProcessMeters> process;
};

/// Every line ends in "\n". What is not known yet (a loss before the first step) is left out.
std::string metrics_page(const MetricsPageFacts& facts);

/// A label's value between quotation marks: backslash, quotation mark and line end get a backslash. Bytes that are no UTF-8 become "?".
std::string escaped_label(std::string_view value);
/// A number as the format has it: "NaN", "+Inf", "-Inf", else the shortest text that reads back to the same number.
std::string sample_value(double value);

}  // namespace shoal::monitor
