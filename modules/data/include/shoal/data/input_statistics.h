// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Measurements of an input pipeline: the cost of each stage, and the stage that delays training.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shoal::data {

/// The measurements of one stage of a pipeline since its iterator was made. Times are estimates: only some calls are
/// measured, and the time of each also stands for the unmeasured calls right before it.
struct StageStatistics {
  std::string name;       ///< The method of Dataset that made the stage, such as "map".
  uint64_t elements = 0;  ///< The number of elements that the stage has returned.
  double seconds = 0;     ///< The stage's own work on all its threads together, without earlier stages and without waiting.
  int threads = 1;        ///< At most this many threads share the stage's work.
  bool is_beside = false;  ///< True: a later stage is a prefetch, so this stage works in the background.
  bool is_source = false;  ///< True: the stage has no input.
  /// True: the stage repeats for ever, or gives elements at other positions in each pass, as behind shuffle and repeat. A
  /// cache() behind it would never be complete, or would keep one order for all passes.
  bool is_moved = false;
};

/// The stages of a pipeline, each after its inputs. Empty unless stages are measured (IterateOptions::measure).
struct InputStatistics {
  std::vector<StageStatistics> stages;
};

/// The stage that a consumer waits for most.
struct SlowestStage {
  std::string name;  ///< Empty: nothing was measured.
  double share = 0;  ///< The stage's share of all stages' time, 0 to 1; a stage's time is divided by its number of threads.
  std::string
      advice;  ///< What to change in the program, as a part of a sentence: "give map more threads: {.parallel = 2}".
};

/// Finds the stage that a consumer waits for most. `cores` is the number of threads that may compute at once.
SlowestStage slowest_stage(const InputStatistics& statistics, int cores);

}  // namespace shoal::data
