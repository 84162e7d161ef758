// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer that has to end may still wait for a server's answer, which may depend on other trainers. EndPatience limits
/// this wait.
#include <optional>

#include "shoal/base/environment.h"

namespace shoal::cluster {

class EndPatience {
 public:
  explicit EndPatience(Environment& env) : env_(&env) {}

  /// Called every second or so while the trainer waits for an answer. `ends` is true once the trainer has to end.
  /// Returns true, to end the wait, after `ends` has been true for 9 s: in this time other trainers may finish the
  /// step, so that the answer comes. A trainer that was asked to give way (end early) waits only 2 s, since its chief
  /// also needs time to save.
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
