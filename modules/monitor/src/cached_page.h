// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The page for monitoring systems, made at most four times a second: many may ask, and making it takes most of an answer's time.
#include <string>

#include "metrics_page.h"

namespace shoal::monitor {

inline constexpr auto kPageLasts = std::chrono::milliseconds(250);

/// Of the endpoint's thread.
class CachedPage {
 public:
  /// `registry` outlives it.
  CachedPage(const MeterRegistry& registry, std::string version) : registry_(registry), version_(std::move(version)) {}

  /// No older than kPageLasts.
  const std::string& at(SteadyTime now) {
    if (page_.empty() || now - made_ >= kPageLasts) {
      const auto tasks = registry_.tasks();
      page_ = metrics_page({.version = version_, .tasks = tasks, .process = process_.read()});
      made_ = now;
    }
    return page_;
  }

 private:
  const MeterRegistry& registry_;
  const std::string version_;
  ProcessReader process_;
  std::string page_;
  SteadyTime made_{};
};

}  // namespace shoal::monitor
