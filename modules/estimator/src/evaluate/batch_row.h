// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Takes single examples out of batches.
#include <cstdint>

#include "shoal/base/tensor.h"

namespace shoal {

enum class BatchAxis : uint8_t {
  kDropped,  ///< The row has the shape of one example.
  kKept,     ///< The row is a batch of one example.
};

/// Copies row `row` of `batch`, whose first axis is the batch and has this row.
Tensor batch_row(const Tensor& batch, int64_t row, BatchAxis axis);

}  // namespace shoal
