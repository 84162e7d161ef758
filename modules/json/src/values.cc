// SPDX-License-Identifier: Apache-2.0
#include "shoal/json/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "shoal/base/format.h"
#include "shoal/base/half.h"
#include "shoal/base/number_text.h"

namespace shoal::json {
namespace {

/// Makes the JSON value of the tensor element at the address `at`. `dtype` is not kString; 16-bit floats become numbers.
PrintedJson stored_json(DType dtype, const std::byte* at) {
  const auto load = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::kFloat32: return number_json(load(float()));
    case DType::kInt32: return load(int32_t());
    case DType::kInt64: return load(int64_t());
    case DType::kUInt8: return load(uint8_t());
    case DType::kBool: return load(uint8_t()) != 0;
    case DType::kBFloat16: return number_json(double(from_bfloat16(load(uint16_t()))));
    case DType::kFloat16: return number_json(double(from_float16(load(uint16_t()))));
    case DType::kString: break;
  }
  return nullptr;
}

/// Makes nested lists over the axes of `shape` from `axis` on. Each call of `element` returns the next value in row-major
/// order. A shape without elements makes one empty list: nested ones would take memory for each index of the outer axes,
/// which a few bytes of a file can make as many as an int64 counts.
template <class Element>
PrintedJson nested_json(const Shape& shape, int axis, const Element& element) {
  if (axis == shape.rank()) return element();
  PrintedJson list = PrintedJson::array();
  if (std::ranges::find(shape.dims(), 0) != shape.dims().end()) return list;
  for (int64_t i = 0; i < shape[axis]; ++i) list.push_back(nested_json(shape, axis + 1, element));
  return list;
}

}  // namespace

PrintedJson number_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

PrintedJson number_json(float value) {
  if (!std::isfinite(value)) return number_json(double(value));
  return number_from<double>(shortest_text(value)).value();
}

PrintedJson element_json(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kString) return tensor.strings()[size_t(index)];
  return stored_json(tensor.dtype(), tensor.view().data + size_t(index) * size_of(tensor.dtype()));
}

PrintedJson values_json(const Tensor& tensor) {
  int64_t index = 0;
  return nested_json(tensor.shape(), 0, [&] { return element_json(tensor, index++); });
}

PrintedJson row_json(const Tensor& tensor, int64_t row) {
  int64_t index = row * (tensor.elements() / tensor.shape()[0]);
  return nested_json(tensor.shape(), 1, [&] { return element_json(tensor, index++); });
}

}  // namespace shoal::json
