// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whom a synchronous step has been waiting for so long that somebody should be told: a trainer whose input hangs is
/// connected, and alive for all that servers know. Has no clock.
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "shoal/base/time.h"

namespace shoal::cluster {

class Stragglers {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(20);
  static constexpr Duration kLookEvery = std::chrono::seconds(5);
  /// Steps that take long come one after another: not each of them is worth a line.
  static constexpr Duration kTellEvery = std::chrono::minutes(10);

  /// What is there now: the version of the weights, and for whom the next one waits. Returns those to tell of, if they were
  /// waited for all the time since kPatience.
  std::vector<int> look(uint64_t version, std::vector<int> awaited, SteadyTime now) {
    if (version != version_ || awaited != awaited_) {
      version_ = version;
      awaited_ = std::move(awaited);
      since_ = now;
    }
    if (awaited_.empty() || now < since_ + kPatience || now < next_) return {};
    next_ = now + kTellEvery;
    return awaited_;
  }

 private:
  uint64_t version_ = 0;
  std::vector<int> awaited_;
  SteadyTime since_{};
  SteadyTime next_{};
};

}  // namespace shoal::cluster
