// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The types of elements, and shapes, as ONNX files state them.
#include <cstdint>
#include <span>

#include "shoal/base/dtype.h"
#include "shoal/base/result.h"
#include "shoal/base/shape.h"

namespace shoal::convert::onnx_model {

/// The type of elements with this number in ONNX files; InvalidArgument if the number is unknown here.
Result<DType> dtype_of_element(int64_t element_type);

/// Makes a shape from the sizes in a file. InvalidArgument for more than eight axes, sizes below 0, and sizes so large
/// that offsets would overflow, even if a size of 0 leaves no elements.
Result<Shape> shape_of(std::span<const int64_t> dims);

}  // namespace shoal::convert::onnx_model
