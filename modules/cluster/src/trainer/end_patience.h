// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Limits how long a trainer that has to end waits for an answer that depends on other trainers.
#include <optional>

#include "shoal/base/environment.h"

namespace shoal::cluster {

class EndPatience {
 public:
  explicit EndPatience(Environment& env) : env_(&env) {}

  /// Called every second or so; `ends` is true once the trainer has to end. Returns true when `ends` has been true for
  /// long enough: until then other trainers may finish the step that the answer waits for. A trainer that was asked to
  /// give way (end early) waits less, since its chief has to save within that time.
  bool is_over(bool ends) {
    constexpr auto kToEnd = std::chrono::seconds(9), kToGiveWay = std::chrono::seconds(2);
    if (!ends) return false;
    if (!since_) since_ = env_->now();
    const bool gives_way = env_->leaving().stop_requested();
    return env_->now() - *since_ >= (gives_way ? kToGiveWay : kToEnd);
  }

 private:
  Environment* env_;
  std::optional<SteadyTime> since_;
};

}  // namespace shoal::cluster
