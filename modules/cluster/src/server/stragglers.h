// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds trainers for which a synchronous step has waited so long that the log should name them: a trainer whose input
/// hangs stays connected and sends heartbeats, so servers notice nothing else. The caller passes the time.
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
  /// The least time between two log lines: if many steps are long, not each needs a line.
  static constexpr Duration kTellEvery = std::chrono::minutes(10);

  /// Called with the version of the weights, and the trainers that the next version waits for. Returns the trainers that
  /// the log should name now. These are all of `awaited`, if `version` and `awaited` have not changed for kPatience, and
  /// the last line of the log about stragglers is at least kTellEvery old; else none.
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
