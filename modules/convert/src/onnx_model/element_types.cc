// SPDX-License-Identifier: Apache-2.0
#include "onnx_model/element_types.h"

#include <algorithm>
#include <string>

namespace shoal::convert::onnx_model {
namespace {

/// The largest product of sizes other than 0. Up to this product, offsets and counts of elements do not overflow.
constexpr int64_t kSizesMax = int64_t(1) << 48;

}  // namespace

Result<DType> dtype_of_element(int64_t element_type) {
  switch (element_type) {  // TensorProto.DataType
    case 1: return DType::kFloat32;
    case 2: return DType::kUInt8;
    case 6: return DType::kInt32;
    case 7: return DType::kInt64;
    case 8: return DType::kString;
    case 9: return DType::kBool;
    default:
      return invalid_argument("has elements of type " + std::to_string(element_type) +
                              " of ONNX, which is not known here: there are float32, uint8, int32, int64, text and bool");
  }
}

Result<Shape> shape_of(std::span<const int64_t> dims) {
  SHOAL_TRY(const Shape shape, Shape::checked(dims));
  int64_t product = 1;
  for (const int64_t size : dims) product *= std::max<int64_t>(size, 1);
  if (product <= kSizesMax) return shape;
  return invalid_argument("the sizes of the shape " + to_string(shape) + " are too large");
}

}  // namespace shoal::convert::onnx_model
