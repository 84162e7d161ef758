// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds trainers that a synchronous step has awaited so long that the log should name them: a trainer whose input hangs
/// is connected, and alive as far as servers know. The caller gives the time.
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
  /// The least time between two log lines: not each of many long steps needs one.
  static constexpr Duration kTellEvery = std::chrono::minutes(10);

  /// Called with the version of the weights, and the trainers that the next version waits for. Returns the trainers to
  /// log, if these were awaited without a break for kPatience.
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
