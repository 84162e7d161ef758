#pragma once
/// Tensors as nested JSON lists.
#include "json_out.h"
#include "shoal/base/tensor.h"

namespace shoal::cli {

/// Element `index` of all, counted through the rows; text, too.
Json element_json(const Tensor& tensor, int64_t index);
/// What lies at `row` of the first axis: lists in lists, or the one value if there is no other axis.
Json row_json(const Tensor& tensor, int64_t row);
/// [[1,2],[3,4]] for shape [2, 2]; a number (or true, false) for a scalar. Storage types are shown as numbers.
Json values_json(const TensorView& tensor);

}  // namespace shoal::cli
