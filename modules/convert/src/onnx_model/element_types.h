// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Types of elements and shapes, as ONNX files say them.
#include <cstdint>
#include <span>

#include "shoal/base/dtype.h"
#include "shoal/base/result.h"
#include "shoal/base/shape.h"

namespace shoal::convert::onnx_model {

/// The type of elements that an ONNX file means by this number; InvalidArgument if it is none that is known here.
Result<DType> dtype_of_element(int64_t element_type);

/// A shape from sizes that come from outside. InvalidArgument for more than eight axes, sizes below 0, and sizes so large that
/// offsets would overflow; also where another size of 0 leaves no elements.
Result<Shape> shape_of(std::span<const int64_t> dims);

}  // namespace shoal::convert::onnx_model
