// SPDX-License-Identifier: Apache-2.0
// Ops that check and convert input data: numbers, ids and labels.
#include <algorithm>
#include <cmath>
#include <string>

#include "loops.h"
#include "shoal/backends/indices.h"
#include "shoal/base/format.h"
#include "shoal/base/random.h"

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

std::string short_text(double number) { return formatted("%.9g", number); }

struct Range {
  double low, high;
  bool whole;
  std::string what, remedy;

  bool has(double x) const { return x >= low && x <= high && (!whole || x == std::floor(x)); }
  /// Describes the accepted values: "0 or 1", "a whole number in [0, 9]", "a number >= 0".
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
                            " is not " + range.text() + range.remedy)
        .with_place({x.data, int64_t(i)});
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
                    attributes.get_string("what"),
                    attributes.has("remedy") ? "; " + attributes.get_string("remedy") : std::string()};
  return make_loop([range](const KernelCall& call) -> Result<void> {
    SHOAL_TRY_VOID(check_elements(call.inputs[0], range));
    std::byte* const y = call.outputs[0].data;
    const std::byte* const x = call.inputs[0].data;
    if (y != x) std::copy_n(x, call.inputs[0].bytes(), y);
    return {};
  });
}

std::unique_ptr<Kernel> make_bucketize(const KernelRequest& request) {
  const int64_t spacing = request.node.attributes.get_int("spacing");
  const int64_t missing_id = request.node.attributes.get_int("missing_id");
  return make_loop([spacing, missing_id](const KernelCall& call) -> Result<void> {
    const auto x = call.inputs[0].as<float>();
    const auto boundaries = call.inputs[1].as<float>();
    const auto y = call.outputs[0].as<int64_t>();
    const Shape& shape = call.inputs[0].shape;
    const size_t columns = shape.rank() == 0 ? 1 : size_t(shape[shape.rank() - 1]);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), x[i]);
      const int64_t id = std::isnan(x[i]) ? missing_id : above - boundaries.begin();
      y[i] = id == -1 ? -1 : id + int64_t(i % columns) * spacing;
    }
    return {};
  });
}

/// Crosses the ids of one row of each operand: hashes each combination of ids.
class Crossing {
 public:
  Crossing(size_t operands, int64_t buckets) : buckets_(uint64_t(buckets)), chosen_(operands), bytes_(operands * 8, 0) {}

  /// Returns the bucket of the combination that `chosen_` selects from `lists`, then moves to the next combination.
  int64_t next(const std::vector<std::span<const int64_t>>& lists) {
    bool missing = false;
    for (size_t k = 0; k < lists.size(); ++k) {
      const int64_t id = lists[k][chosen_[k]];
      missing = missing || id == -1;
      for (size_t byte = 0; byte < 8; ++byte) bytes_[k * 8 + byte] = char(uint64_t(id) >> (8 * byte) & 0xff);
    }
    for (size_t k = lists.size(); k-- > 0 && ++chosen_[k] == lists[k].size();) chosen_[k] = 0;
    return missing ? -1 : int64_t(hash64(bytes_) % buckets_);
  }

 private:
  uint64_t buckets_;
  std::vector<size_t> chosen_;
  std::string bytes_;
};

std::unique_ptr<Kernel> make_cross_ids(const KernelRequest& request) {
  const int64_t buckets = request.node.attributes.get_int("buckets");
  return make_loop([buckets](const KernelCall& call) -> Result<void> {
    const auto y = call.outputs[0].as<int64_t>();
    const Shape& crossed = call.outputs[0].shape;
    const auto combinations = size_t(crossed[crossed.rank() - 1]);
    const size_t rows = combinations == 0 ? 0 : y.size() / combinations;
    Crossing crossing(call.inputs.size(), buckets);
    std::vector<std::span<const int64_t>> lists(call.inputs.size());
    for (size_t row = 0; row < rows; ++row) {
      for (size_t k = 0; k < lists.size(); ++k) {
        const auto ids = call.inputs[k].as<int64_t>();
        lists[k] = ids.subspan(row * (ids.size() / rows), ids.size() / rows);
      }
      for (size_t c = 0; c < combinations; ++c) y[row * combinations + c] = crossing.next(lists);
    }
    return {};
  });
}

std::unique_ptr<Kernel> make_default_ids(const KernelRequest& request) {
  const int64_t depth = request.node.attributes.get_int("depth");
  const int64_t otherwise = request.node.attributes.get_int("otherwise");
  const int64_t lowest = request.node.attributes.get_int("lowest", -1);
  return make_loop([depth, otherwise, lowest](const KernelCall& call) -> Result<void> {
    const Indices ids(call.inputs[0]);
    const auto y = call.outputs[0].as<int64_t>();
    for (int64_t i = 0; i < ids.count(); ++i) {
      const int64_t id = ids[i];
      y[size_t(i)] = id >= lowest && id < depth ? id : otherwise;
    }
    return {};
  });
}

}  // namespace

void add_inputs(const AddMaker& add) {
  add("multi_hot", make_multi_hot);
  add("check_range", make_check_range);
  add("bucketize", make_bucketize);
  add("cross_ids", make_cross_ids);
  add("default_ids", make_default_ids);
}

}  // namespace shoal::backends::reference
