// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Times of single messages, and what is said of them.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::bench {

/// Seconds, one for each message.
class Latencies {
 public:
  void reserve(size_t count) { seconds_.reserve(count); }
  void add(double seconds) { seconds_.push_back(seconds); }
  void append(const Latencies& more) { seconds_.insert(seconds_.end(), more.seconds_.begin(), more.seconds_.end()); }
  size_t count() const { return seconds_.size(); }
  /// The `share`-th part from below (0.5: the median); 0 if there is none. Sorts.
  double percentile(double share);

 private:
  std::vector<double> seconds_;
};

/// The time on the steady clock.
double now_seconds();
/// Processor time of all threads of this process, user and system.
double processor_seconds();

/// How often something is repeated so that it takes about `budget` seconds, from one run of it, within [least, most].
int64_t repetitions(double seconds_of_one, double budget, int64_t least, int64_t most);

}  // namespace shoal::bench
