// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Caches the page for monitoring systems for a quarter of a second: many clients may ask, and making the page takes most
/// of an answer's time.
#include <string>

#include "metrics_page.h"

namespace shoal::monitor {

inline constexpr auto kPageLasts = std::chrono::milliseconds(250);

/// Used on the endpoint's thread alone.
class CachedPage {
 public:
  /// `registry` must outlive the page.
  CachedPage(const MeterRegistry& registry, std::string version) : registry_(registry), version_(std::move(version)) {}

  /// Returns a page that is at most kPageLasts old.
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
