// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For how long a trainer that is to end waits for an answer that needs others.
#include <optional>

#include "shoal/base/environment.h"

namespace shoal::cluster {

class EndPatience {
 public:
  explicit EndPatience(Environment& env) : env_(&env) {}

  /// Asked every second or so; `ends`: whether the trainer is to end. True once that has been so for long enough: others may
  /// still make the step that is waited for. Who gives way has less time, since its chief has to save in it.
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
