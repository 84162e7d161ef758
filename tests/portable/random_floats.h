// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "shoal/base/random.h"

namespace shoal::backends::portable {

/// Uniform in [-1, 1), the same for the same key.
inline std::vector<float> random_floats(int64_t count, uint64_t key = 5) {
  std::vector<float> values(static_cast<size_t>(count));
  fill_uniform(key, 0, values, -1.0f, 1.0f);
  return values;
}

}  // namespace shoal::backends::portable
