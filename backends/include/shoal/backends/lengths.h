// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks the lengths of sequences of unequal length in one tensor, as every backend does before it uses them.
#include <cstdint>
#include <string>

#include "shoal/base/result.h"

namespace shoal::backends {

/// InvalidArgument for the first of `rows` lengths that is outside of [0, positions]. `lengths` may be null, which
/// passes the check.
inline Result<void> check_lengths(const int64_t* lengths, int64_t rows, int64_t positions) {
  for (int64_t row = 0; lengths && row < rows; ++row) {
    if (lengths[row] >= 0 && lengths[row] <= positions) continue;
    return invalid_argument("length " + std::to_string(lengths[row]) + " in row " + std::to_string(row) +
                            " is outside [0, " + std::to_string(positions) + "]")
        .with_place({lengths, row});
  }
  return {};
}

}  // namespace shoal::backends
