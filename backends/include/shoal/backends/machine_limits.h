// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What this machine does at most, measured: multiply-adds in registers and copies of memory. Times of kernels are compared
/// with it (the roofline model: Williams, Waterman, Patterson, Communications of the ACM 52(4), 2009).
#include <cstdint>
#include <vector>

#include "shoal/graph/cost.h"

namespace shoal::backends {

/// An immutable record of measurements, so another machine's or a made-up one serves as well.
struct MachineLimits {
  /// Operations of float32, two for each multiply-add.
  double flops_per_second = 0;
  /// A copy that reads and writes `bytes` in all, by rising sizes: small ones stay in caches.
  struct Copy {
    double bytes = 0;
    double bytes_per_second = 0;
  };
  std::vector<Copy> copies;

  /// The rate of the smallest copy that moves as much, or of the largest if none does.
  double bytes_per_second(double bytes) const;
  /// The least time that a node of this cost may take; 0 for one that costs nothing.
  double least_seconds(const NodeCost& cost) const;
};

/// Takes about half a second, on threads of its own that stand for those of a program. `threads` >= 1.
MachineLimits measure_machine_limits(int threads);

}  // namespace shoal::backends
