// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gradients of variables that are updated by rows.
#include <cstddef>

#include "shoal/base/tensor.h"

namespace shoal::cluster {

/// The gradient of some rows of a variable that is updated by rows, of one lookup: row i of `gradients` belongs to row
/// ids[i] of the variable. What belongs to one row, also of several lookups, is added up in order.
struct RowGradients {
  size_t variable = 0;   ///< The variable's place in bind()'s `by_rows`.
  TensorView ids;        ///< Which rows, as int64 or int32.
  TensorView gradients;  ///< Values in float32, the variable's row size for each id.
};

}  // namespace shoal::cluster
