// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gradients of variables that are updated row by row.
#include <cstddef>

#include "shoal/base/tensor.h"

namespace shoal::cluster {

/// Gradients from one lookup in a variable that is updated by rows: row i of `gradients` belongs to row ids[i] of the
/// variable. The gradients of one row, of all lookups, are added up in order.
struct RowGradients {
  size_t variable = 0;   ///< The variable's index in the argument `by_rows` of Store::bind().
  TensorView ids;        ///< Row numbers, int64 or int32.
  TensorView gradients;  ///< float32, one row of the variable for each id.
};

}  // namespace shoal::cluster
