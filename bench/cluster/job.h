// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A job whose trainers do not compute: they wait for as long as a step takes, and push. All tasks are threads of this
/// process, over any transport.
#include <cstdint>
#include <string>

#include "shoal/base/result.h"
#include "shoal/base/time.h"

namespace shoal::bench {

/// When a trainer draws its next batch: 64 pictures of 28 x 28 bytes as float32, shuffled, from memory.
enum class Draw { kNever, kAfterTheCommit, kDuringTheCommit };

struct JobPlan {
  std::string transport = "inproc";
  std::string strategy = "async";
  int servers = 1;
  int trainers = 1;
  uint64_t bytes = 64 << 10;  ///< Bytes of the weights, and of a gradient; updated by SGD.
  Duration step{};            ///< What stands for computing.
  Draw draw = Draw::kNever;
  double straggler = 1;  ///< How many times as long the last trainer takes.
  double seconds = 2;    ///< How long is measured, after half a second of warming up.
};

struct JobSpeed {
  double batches_per_second = 0;  ///< Batches that were applied, of all trainers.
  double dropped_per_second = 0;  ///< Gradients that came too late for their step.
  double cores = 0;               ///< How many cores the whole process kept busy meanwhile.
};

Result<JobSpeed> measure(const JobPlan& plan);

}  // namespace shoal::bench
