// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

/// Returns the position of the largest of x[0], x[step], x[2 * step], ..., or that of the first NaN, if there is one.
int64_t argmax(const float* x, int64_t length, int64_t step) {
  int64_t best = 0;
  for (int64_t i = 1; i < length; ++i) {
    const float at = x[i * step], highest = x[best * step];
    if (at > highest || (std::isnan(at) && !std::isnan(highest))) best = i;
  }
  return best;
}

std::unique_ptr<Kernel> make_argmax(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const Attributes& attributes = request.node.attributes;
  const int axis = attributes.has("axis") ? int(attributes.get_int("axis")) : shape.rank() - 1;
  const int64_t length = shape[axis];
  int64_t inner = 1;
  for (int a = axis + 1; a < shape.rank(); ++a) inner *= shape[a];
  return make_loop([length, inner](const KernelCall& call) -> Result<void> {
    const float* x = call.inputs[0].as<float>().data();
    const auto positions = call.outputs[0].as<int64_t>();
    for (int64_t i = 0; i < int64_t(positions.size()); ++i) {
      positions[size_t(i)] = argmax(x + i / inner * length * inner + i % inner, length, inner);
    }
    return {};
  });
}

template <class To, class From>
To cast_one(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<To, float>) {
    return float(x);
  } else if constexpr (std::is_same_v<From, float>) {
    if (std::isnan(x)) return 0;
    if (double(x) <= double(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (double(x) >= double(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return To(x);
  } else if constexpr (std::is_same_v<From, bool>) {
    return To(x);
  } else {
    return To(
        std::min<int64_t>(std::max<int64_t>(int64_t(x), std::numeric_limits<To>::min()), std::numeric_limits<To>::max()));
  }
}

template <class To, class From>
void cast_all(TensorView x, MutableTensorView y) {
  const auto from = x.as<From>();
  const auto to = y.as<To>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = cast_one<To>(from[i]);
}

template <class To>
Result<void> cast_to(TensorView x, MutableTensorView y) {
  switch (x.dtype) {
    case DType::kFloat32: cast_all<To, float>(x, y); break;
    case DType::kInt32: cast_all<To, int32_t>(x, y); break;
    case DType::kInt64: cast_all<To, int64_t>(x, y); break;
    case DType::kUInt8: cast_all<To, uint8_t>(x, y); break;
    case DType::kBool: cast_all<To, bool>(x, y); break;
    default: SHOAL_CHECK(false);
  }
  return {};
}

std::unique_ptr<Kernel> make_cast(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    const TensorView x = call.inputs[0];
    const MutableTensorView y = call.outputs[0];
    switch (y.dtype) {
      case DType::kFloat32: return cast_to<float>(x, y);
      case DType::kInt32: return cast_to<int32_t>(x, y);
      case DType::kInt64: return cast_to<int64_t>(x, y);
      case DType::kUInt8: return cast_to<uint8_t>(x, y);
      case DType::kBool: return cast_to<bool>(x, y);
      default: SHOAL_CHECK(false);
    }
    return {};
  });
}

}  // namespace

void add_integer(const AddMaker& add) {
  add("argmax", make_argmax);
  add("cast", make_cast);
}

}  // namespace shoal::backends::reference
