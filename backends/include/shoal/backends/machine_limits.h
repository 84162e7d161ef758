// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The measured peak performance of this machine: multiply-adds in registers, and copies of memory. Times of kernels are
/// compared with it (the roofline model: Williams, Waterman, Patterson, Communications of the ACM 52(4), 2009).
#include <cstdint>
#include <vector>

#include "shoal/graph/cost.h"

namespace shoal::backends {

/// A record of measurements. It is plain data, so it may also describe another machine or an imagined one.
struct MachineLimits {
  /// Operations of float32, two for each multiply-add.
  double flops_per_second = 0;
  /// The measured rate of a copy that reads and writes `bytes` bytes in total. Small copies are faster, since they stay in
  /// the caches. `copies` is sorted by size, smallest first.
  struct Copy {
    double bytes = 0;
    double bytes_per_second = 0;
  };
  std::vector<Copy> copies;

  /// The rate of the smallest copy that moves at least `bytes`, or of the largest copy if none does.
  double bytes_per_second(double bytes) const;
  /// The least time that a node of this cost may take; 0 for a node without cost.
  double least_seconds(const NodeCost& cost) const;
};

/// Measures for about half a second on `threads` new threads (>= 1), usually the number that a program computes with.
MachineLimits measure_machine_limits(int threads);

}  // namespace shoal::backends
