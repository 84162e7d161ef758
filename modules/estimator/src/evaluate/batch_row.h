// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Cuts single examples out of batches.
#include <cstdint>

#include "shoal/base/tensor.h"

namespace shoal {

enum class BatchAxis : uint8_t {
  kDropped,  ///< The result has no batch axis: it has the shape of one example.
  kKept,     ///< The result is a batch of one example.
};

/// Copies the example with the index `row` out of `batch`, whose first axis is the batch. `row` is less than its length.
Tensor batch_row(const Tensor& batch, int64_t row, BatchAxis axis);

}  // namespace shoal
