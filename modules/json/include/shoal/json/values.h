// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes numbers and tensors as JSON for people and other programs. Numbers that have to be read back unchanged are
/// written by exact.h instead.
#include <cstdint>

#include "shoal/base/tensor.h"
#include "shoal/json/json.h"

namespace shoal::json {

/// Makes a number, or "NaN", "Infinity" or "-Infinity", for which JSON has no numbers.
PrintedJson number_json(double value);

/// Makes a number, or the text for one that is not finite, with the fewest digits that tell `value` from all other floats.
PrintedJson number_json(float value);

/// Makes the JSON value of the element at `index` in row-major order; the tensor may have any element type.
PrintedJson element_json(const Tensor& tensor, int64_t index);

/// Makes nested lists, such as [[1,2],[3,4]] for the shape [2, 2], or a single value for a scalar, for any element type. A
/// tensor without elements makes [], whatever its shape.
PrintedJson values_json(const Tensor& tensor);

/// Makes nested lists of the values at `row` of the first axis, or a single value if there is no other axis.
PrintedJson row_json(const Tensor& tensor, int64_t row);

}  // namespace shoal::json
