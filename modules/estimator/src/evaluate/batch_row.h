// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Cuts single examples out of batches.
#include <cstdint>

#include "shoal/base/tensor.h"

namespace shoal {

enum class BatchAxis : uint8_t {
  kDropped,  ///< The row has the shape of one example.
  kKept,     ///< The row is a batch of one example.
};

/// Copies row `row` of `batch`. The first axis of `batch` is the batch and is longer than `row`.
Tensor batch_row(const Tensor& batch, int64_t row, BatchAxis axis);

}  // namespace shoal
