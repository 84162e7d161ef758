#include "values_json.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "shoal/base/half.h"

namespace shoal::cli {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

double from_float16(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) ? -1.0 : 1.0;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : std::nan("");
  if (exponent == 0) return sign * std::ldexp(double(mantissa), -24);
  return sign * std::ldexp(double(mantissa + 1024), exponent - 25);
}

Json element(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kFloat32: return number(load<float>(at));
    case DType::kInt32: return load<int32_t>(at);
    case DType::kInt64: return load<int64_t>(at);
    case DType::kUInt8: return load<uint8_t>(at);
    case DType::kBool: return load<uint8_t>(at) != 0;
    case DType::kBFloat16: return number(double(from_bfloat16(load<uint16_t>(at))));
    case DType::kFloat16: return number(from_float16(load<uint16_t>(at)));
    case DType::kString: break;
  }
  return nullptr;
}

/// What lies from element `index` on along `axis` and those after it; moves `index` past it.
Json nested(const Tensor& tensor, int axis, int64_t& index) {
  if (axis == tensor.shape().rank()) return element_json(tensor, index++);
  Json list = Json::array();
  for (int64_t i = 0; i < tensor.shape()[axis]; ++i) list.push_back(nested(tensor, axis + 1, index));
  return list;
}

/// The values from `at` on along `axis` and those after it; moves `at` past them.
Json nested(const TensorView& tensor, int axis, const std::byte*& at) {
  if (axis == tensor.shape.rank()) {
    Json value = element(tensor.dtype, at);
    at += size_of(tensor.dtype);
    return value;
  }
  Json list = Json::array();
  for (int64_t i = 0; i < tensor.shape[axis]; ++i) list.push_back(nested(tensor, axis + 1, at));
  return list;
}

}  // namespace

Json element_json(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kString) return tensor.strings()[size_t(index)];
  return element(tensor.dtype(), tensor.view().data + size_t(index) * size_of(tensor.dtype()));
}

Json row_json(const Tensor& tensor, int64_t row) {
  int64_t index = row * (tensor.elements() / tensor.shape()[0]);
  return nested(tensor, 1, index);
}

Json values_json(const TensorView& tensor) {
  const std::byte* at = tensor.data;
  return nested(tensor, 0, at);
}

}  // namespace shoal::cli
