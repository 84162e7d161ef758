// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/window.h"

#include <algorithm>

namespace shoal {

AxisPadding same_padding(int64_t size, int64_t window, int64_t stride) {
  SHOAL_CHECK(stride >= 1);
  const int64_t count = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (count - 1) * stride + window - size);
  return {total / 2, total - total / 2};
}

Result<int64_t> window_count(int64_t size, int64_t window, int64_t stride, AxisPadding padding) {
  constexpr int64_t kMax = int64_t(1) << 31;  // Larger than any image, but small enough that no sum here overflows.
  if (window < 1 || stride < 1 || padding.before < 0 || padding.after < 0 || window > kMax || stride > kMax) {
    return invalid_argument("window " + std::to_string(window) + ", stride " + std::to_string(stride) + " and padding " +
                            std::to_string(padding.before) + ", " + std::to_string(padding.after) +
                            " must be at least 1, 1, 0, 0");
  }
  if (padding.before >= window || padding.after >= window) {
    return invalid_argument("padding " + std::to_string(padding.before) + ", " + std::to_string(padding.after) +
                            " is as large as a window of " + std::to_string(window));
  }
  if (size < 1 || size > kMax) return invalid_argument("size " + std::to_string(size) + " is out of range");
  const int64_t padded = size + padding.before + padding.after;
  if (window > padded) {
    return invalid_argument("a window of " + std::to_string(window) + " does not fit into " + std::to_string(padded) +
                            " elements, padding included");
  }
  return (padded - window) / stride + 1;
}

}  // namespace shoal
