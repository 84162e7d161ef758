// Ids and labels as they come in.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "loops.h"
#include "shoal/backends/indices.h"

namespace shoal::backends::reference {
namespace {

std::unique_ptr<Kernel> make_multi_hot(const KernelRequest& request) {
  const int64_t depth = request.node.attributes.get_int("depth");
  return make_loop([depth](const KernelCall& call) -> Result<void> {
    SHOAL_TRY_VOID(check_indices(call.inputs[0], depth, Missing::kAllowed));
    const Indices ids(call.inputs[0]);
    const float* weights = call.inputs.size() > 1 ? call.inputs[1].as<float>().data() : nullptr;
    const auto y = call.outputs[0].as<float>();
    std::fill(y.begin(), y.end(), 0.0f);
    const Shape& shape = call.inputs[0].shape;
    const int64_t per_row = shape[shape.rank() - 1];
    for (int64_t i = 0; i < ids.count(); ++i) {
      if (ids[i] >= 0) y[size_t(i / per_row * depth + ids[i])] += weights == nullptr ? 1.0f : weights[i];
    }
    return {};
  });
}

std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

struct Range {
  double low, high;
  bool whole;
  std::string what;

  bool has(double x) const { return x >= low && x <= high && (!whole || x == std::floor(x)); }
  /// "0 or 1", "a whole number in [0, 9]", "a number >= 0".
  std::string text() const {
    if (whole && low == 0 && high == 1) return "0 or 1";
    const std::string number = whole ? "a whole number" : "a number";
    if (std::isinf(high)) return std::isinf(low) ? number : number + " >= " + short_text(low);
    if (std::isinf(low)) return number + " <= " + short_text(high);
    return number + " in [" + short_text(low) + ", " + short_text(high) + "]";
  }
};

template <class T>
Result<void> check_all(const TensorView& x, const Range& range) {
  const auto elements = x.as<T>();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (range.has(double(elements[i]))) [[likely]]
      continue;
    return invalid_argument(range.what + " " + short_text(double(elements[i])) + place_text(x.shape, int64_t(i)) +
                            " is not " + range.text());
  }
  return {};
}

Result<void> check_elements(const TensorView& x, const Range& range) {
  switch (x.dtype) {
    case DType::kFloat32: return check_all<float>(x, range);
    case DType::kInt64: return check_all<int64_t>(x, range);
    case DType::kInt32: return check_all<int32_t>(x, range);
    case DType::kUInt8: return check_all<uint8_t>(x, range);
    default: return check_all<bool>(x, range);
  }
}

std::unique_ptr<Kernel> make_check_range(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Range range{attributes.get_real("low"), attributes.get_real("high"), attributes.get_bool("whole"),
                    attributes.get_string("what")};
  return make_loop([range](const KernelCall& call) -> Result<void> {
    SHOAL_TRY_VOID(check_elements(call.inputs[0], range));
    std::byte* const y = call.outputs[0].data;
    const std::byte* const x = call.inputs[0].data;
    if (y != x) std::copy_n(x, call.inputs[0].bytes(), y);
    return {};
  });
}

}  // namespace

void add_inputs(const AddMaker& add) {
  add("multi_hot", make_multi_hot);
  add("check_range", make_check_range);
}

}  // namespace shoal::backends::reference
