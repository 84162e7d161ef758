#pragma once
/// Tensors as nested JSON lists.
#include "json_out.h"
#include "shoal/base/tensor.h"

namespace shoal::cli {

/// [[1,2],[3,4]] for shape [2, 2]; a number (or true, false) for a scalar. Storage types are shown as numbers.
Json values_json(const TensorView& tensor);

}  // namespace shoal::cli
