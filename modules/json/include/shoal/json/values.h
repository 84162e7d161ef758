// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers and tensors as JSON that people and other programs read: for output only. exact.h has numbers that come back.
#include <cstdint>

#include "shoal/base/tensor.h"
#include "shoal/json/json.h"

namespace shoal::json {

/// A number, or "NaN", "Infinity", "-Infinity", for which JSON has no numbers.
PrintedJson number_json(double value);

/// As the other overload. The number has the fewest digits that tell `value` from all other floats.
PrintedJson number_json(float value);

/// Element `index` of all in row-major order, of any type.
PrintedJson element_json(const Tensor& tensor, int64_t index);

/// [[1,2],[3,4]] for the shape [2, 2], the value alone for a scalar; of any type.
PrintedJson values_json(const Tensor& tensor);

/// The values at `row` of the first axis: lists in lists, or the value alone if there is no other axis.
PrintedJson row_json(const Tensor& tensor, int64_t row);

}  // namespace shoal::json
