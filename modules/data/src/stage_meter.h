// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Measures stages while they work. Reading a clock takes as long as a cheap stage does, so not every call is measured: a
/// measured call counts for all calls since the one measured before.
#include <atomic>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "shoal/data/input_statistics.h"

namespace shoal::data {

/// Measurements of one stage. Only one thread at a time writes them; any thread may read them.
struct StageMeter {
  std::string_view kind = {};       ///< A literal.
  std::vector<size_t> inputs = {};  ///< The indices (in StageMeters) of the meters of the stage's inputs.
  /// True if the stage's calls only wait for work of other threads: the time of these calls is not counted.
  bool waits = false;
  /// True for a prefetch stage. The stages before it run on other threads, while the consumer works.
  bool is_border = false;
  bool is_moved = false;  ///< StageStatistics::is_moved.
  int threads = 1;        ///< The number of threads that share the stage's own work.
  std::atomic<uint64_t> elements = 0;
  std::atomic<int64_t> nanoseconds = 0;       ///< Time of the stage's calls, including the calls of its inputs.
  std::atomic<int64_t> work_nanoseconds = 0;  ///< Time of functions that the stage has called on other threads.
};

/// The meters of a pipeline. begin() and end() enclose the making of each stage, which includes the making of its inputs.
class StageMeters {
 public:
  StageMeter& begin(std::string_view kind);
  void end() { open_.pop_back(); }
  /// The meter of the stage that is being made.
  StageMeter& open() { return meters_[open_.back()]; }
  /// Any thread may call this once all stages are made.
  InputStatistics statistics() const;

 private:
  std::deque<StageMeter> meters_;
  std::vector<size_t> open_;  // Indices in meters_ of those whose stages are being made, outermost first.
};

}  // namespace shoal::data
