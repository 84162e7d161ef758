// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Measurements of an input pipeline: the cost of each stage, and the stage that delays training.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shoal::data {

/// One stage of a pipeline since its iterator was made. Times are estimates: some calls of a stage are measured and count
/// for the calls between them.
struct StageStatistics {
  std::string name;       ///< The method of Dataset that made the stage: "map", "tf_records".
  uint64_t elements = 0;  ///< Elements that the stage has handed out.
  double seconds =
      0;  ///< The stage's own work on all its threads together, without earlier stages and without waiting.
  int threads = 1;  ///< The largest number of threads that share the work.
  bool is_beside = false;  ///< True: a prefetch stands behind it, so that it works while the consumer does.
  bool is_source = false;  ///< True: no stage stands before it.
};

/// The stages of a pipeline, each behind those that it takes its elements from. Empty where nobody measured (IterateOptions::measure).
struct InputStatistics {
  std::vector<StageStatistics> stages;
};

/// The stage that a consumer waits for most.
struct SlowestStage {
  std::string name;  ///< Empty: nothing was measured.
  double share = 0;  ///< Of the time of all stages, 0 to 1; that of a stage with several threads counts by its threads.
  std::string
      advice;  ///< What to change in the program, as a part of a sentence: "give map more threads: {.parallel = 2}".
};

/// `cores`: how many threads may compute at once.
SlowestStage slowest_stage(const InputStatistics& statistics, int cores);

}  // namespace shoal::data
