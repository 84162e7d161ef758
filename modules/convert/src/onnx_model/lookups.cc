// SPDX-License-Identifier: Apache-2.0
// Ops that look up elements by position or by value.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

/// The elements of an input of int64 or int32, of any shape.
Result<std::vector<int64_t>> positions_of(const Call& call, size_t input) {
  if (call.dtype(input) == DType::kInt32) {
    const auto given = call.in(input).as<int32_t>();
    return std::vector<int64_t>(given.begin(), given.end());
  }
  SHOAL_TRY_VOID(call.want(input, DType::kInt64));
  const auto given = call.in(input).as<int64_t>();
  return std::vector<int64_t>(given.begin(), given.end());
}

/// Returns positions along an axis of this size. Given positions below 0 count from its end.
Result<std::vector<int64_t>> indices(Call& call, size_t input, int64_t size) {
  SHOAL_TRY_VOID(call.budget().take({call.in(input).elements()}));
  SHOAL_TRY(std::vector<int64_t> found, positions_of(call, input));
  for (int64_t& index : found) {
    if (index < -size || index >= size)
      return invalid_argument("position " + std::to_string(index) + " is none of " + std::to_string(size));
    if (index < 0) index += size;
  }
  return found;
}

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
}

/// Takes from the budget the bytes of `elements` copies of texts, as if each copy were as long as the longest text of
/// `from`.
Result<void> take_copies(Call& call, const Tensor& from, int64_t elements) {
  if (from.dtype() != DType::kString) return {};
  size_t longest = 0;
  for (const std::string& text : from.strings()) longest = std::max(longest, text.size());
  return call.budget().take({int64_t(longest), elements});
}

Result<void> run_gather(Call& call) {
  const Shape& shape = call.shape();
  SHOAL_TRY(const int axis, axis_of(call.number("axis", 0), shape.rank()));
  SHOAL_TRY(const std::vector<int64_t> at, indices(call, 1, shape[axis]));
  const auto before = shape.dims().first(size_t(axis)), after = shape.dims().subspan(size_t(axis) + 1);
  std::vector<int64_t> dims(before.begin(), before.end());
  dims.insert(dims.end(), call.shape(1).dims().begin(), call.shape(1).dims().end());
  dims.insert(dims.end(), after.begin(), after.end());
  SHOAL_TRY(Tensor result, call.make(call.dtype(), dims));
  SHOAL_TRY_VOID(take_copies(call, call.in(0), result.elements()));
  const int64_t rows = result.elements() == 0 ? 0 : product(before), inner = product(after);
  SHOAL_TRY_VOID(with_type(call.dtype(), [&]<class T>(T) -> Result<void> {
    const auto from = elements_of<T>(call.in(0)).begin();
    auto to = elements_of<T>(result).begin();
    for (int64_t row = 0; row < rows; ++row) {
      for (const int64_t index : at) to = std::copy_n(from + (row * shape[axis] + index) * inner, inner, to);
    }
    return {};
  }));
  call.give(std::move(result));
  return {};
}

/// If "axis" is the second axis, result[i][j] = data[i][indices[i][j]]; other axes likewise.
Result<void> run_gather_elements(Call& call) {
  const Shape &data = call.shape(0), &wanted = call.shape(1);
  SHOAL_TRY(const int axis, axis_of(call.number("axis", 0), data.rank()));
  bool fits = data.rank() == wanted.rank();
  for (int i = 0; fits && i < data.rank(); ++i) fits = i == axis || wanted[i] <= data[i];
  if (!fits) return invalid_argument("positions of " + to_string(wanted) + " do not go into " + to_string(data));
  SHOAL_TRY(const std::vector<int64_t> at, indices(call, 1, data[axis]));
  SHOAL_TRY(Tensor result, call.make(call.dtype(), wanted));
  SHOAL_TRY_VOID(take_copies(call, call.in(0), result.elements()));
  Strides strides = dense_strides(data);
  const int64_t stride = std::exchange(strides[size_t(axis)], 0);
  const int64_t step = last_stride(strides, wanted);
  SHOAL_TRY_VOID(with_type(call.dtype(), [&]<class T>(T) -> Result<void> {
    const auto from = elements_of<T>(call.in(0));
    auto to = elements_of<T>(result).begin();
    auto index = at.begin();
    each_row<1>(wanted, {strides}, [&](const auto& begins, int64_t count) {
      for (int64_t i = 0; i < count; ++i) *to++ = from[size_t(begins[0] + i * step + *index++ * stride)];
    });
    return {};
  }));
  call.give(std::move(result));
  return {};
}

/// An id outside of [-depth, depth) sets no element; an id below 0 counts from the end.
Result<void> run_one_hot(Call& call) {
  SHOAL_TRY(const int64_t depth, call.int64_scalar(1));
  if (depth < 0) return invalid_argument("the depth is " + std::to_string(depth));
  if (call.in(2).elements() != 2) return invalid_argument("input 2 does not have two elements");
  SHOAL_TRY(const int axis, axis_of(call.number("axis", -1), call.shape().rank() + 1));
  std::vector<int64_t> dims(call.shape().dims().begin(), call.shape().dims().end());
  dims.insert(dims.begin() + axis, depth);
  SHOAL_TRY(const Shape shape, shape_of(dims));
  SHOAL_TRY_VOID(call.budget().take({call.in(0).elements()}));
  SHOAL_TRY(const std::vector<int64_t> ids, positions_of(call, 0));
  const Tensor one = call.in(2).reshaped(Shape{2});
  SHOAL_TRY(Tensor result, gathered(call, one, shape, Strides{}));
  const int64_t inner = product(std::span(dims).subspan(size_t(axis) + 1));
  SHOAL_TRY_VOID(with_type(result.dtype(), [&]<class T>(T) -> Result<void> {
    const auto to = elements_of<T>(result);
    const T hot = elements_of<T>(one)[1];
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t place = ids[i] < 0 ? ids[i] + depth : ids[i];
      if (place < 0 || place >= depth) continue;
      to[size_t((int64_t(i) / inner * depth + place) * inner + int64_t(i) % inner)] = hot;
    }
    return {};
  }));
  call.give(std::move(result));
  return {};
}

/// A line consists of the elements of a tensor that differ only in their index along one axis. `size`: the number of
/// elements of a line; `stride`: the distance between two neighbours in memory; `count`: the number of lines.
struct Lines {
  int64_t size, stride, count;
  int64_t begin(int64_t line) const { return line / stride * stride * size + line % stride; }
};
Lines lines_along(const Shape& shape, int axis) {
  const int64_t stride = product(shape.dims().subspan(size_t(axis) + 1));
  return {shape[axis], stride, product(shape.dims().first(size_t(axis))) * stride};
}

Result<void> run_top_k(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  const Shape& shape = call.shape();
  SHOAL_TRY(const int axis, axis_of(call.number("axis", -1), shape.rank()));
  SHOAL_TRY(const int64_t k, call.int64_scalar(1));
  if (k < 0 || k > shape[axis])
    return invalid_argument("the first " + std::to_string(k) + " of " + std::to_string(shape[axis]) + " are asked for");
  SHOAL_TRY(Tensor values, call.make(DType::kFloat32, shape.with(axis, k)));
  SHOAL_TRY(Tensor places, call.make(DType::kInt64, shape.with(axis, k)));
  SHOAL_TRY_VOID(call.budget().take({call.in(0).elements(), 8}));
  const float sign = call.number("largest", 1) != 0 ? 1.0f : -1.0f;
  const auto x = call.in(0).as<float>();
  const Lines from = lines_along(shape, axis), to = lines_along(values.shape(), axis);
  const bool is_empty = values.elements() == 0;
  std::vector<int64_t> order(is_empty ? 0 : size_t(from.size), 0);
  for (int64_t line = 0; !is_empty && line < from.count; ++line) {
    const auto at = [&](int64_t i) { return x[size_t(from.begin(line) + i * from.stride)]; };
    std::iota(order.begin(), order.end(), int64_t(0));
    // Sorts NaN first, as numpy does; equal elements keep their order.
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
      const bool a_is_nan = std::isnan(at(a)), b_is_nan = std::isnan(at(b));
      if (a_is_nan != b_is_nan) return a_is_nan;
      if (!a_is_nan && at(a) != at(b)) return sign * at(a) > sign * at(b);
      return a < b;
    });
    for (int64_t i = 0; i < k; ++i) {
      const auto place = size_t(to.begin(line) + i * to.stride);
      values.mutable_as<float>()[place] = at(order[size_t(i)]);
      places.mutable_as<int64_t>()[place] = order[size_t(i)];
    }
  }
  call.give(std::move(values), 0);
  call.give(std::move(places), 1);
  return {};
}

template <class T>
void find_largest(const Call& call, const Lines& lines, std::span<int64_t> to) {
  const auto x = call.in(0).as<T>();
  for (int64_t line = 0; line < lines.count; ++line) {
    int64_t best = 0;
    for (int64_t i = 1; i < lines.size; ++i) {
      if (x[size_t(lines.begin(line) + i * lines.stride)] > x[size_t(lines.begin(line) + best * lines.stride)]) best = i;
    }
    to[size_t(line)] = best;
  }
}

Result<void> run_arg_max(Call& call) {
  const Shape& shape = call.shape();
  SHOAL_TRY(const int axis, axis_of(call.number("axis", 0), shape.rank()));
  if (shape[axis] == 0) return invalid_argument("there is no largest of no elements");
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[size_t(axis)] = 1;
  if (call.number("keepdims", 1) == 0) dims.erase(dims.begin() + axis);
  SHOAL_TRY(Tensor result, call.make(DType::kInt64, dims));
  SHOAL_TRY_VOID(call.budget().take({call.in(0).elements()}));
  const Lines lines = lines_along(shape, axis);
  switch (call.dtype()) {
    case DType::kFloat32: find_largest<float>(call, lines, result.mutable_as<int64_t>()); break;
    case DType::kInt32: find_largest<int32_t>(call, lines, result.mutable_as<int64_t>()); break;
    case DType::kInt64: find_largest<int64_t>(call, lines, result.mutable_as<int64_t>()); break;
    case DType::kUInt8: find_largest<uint8_t>(call, lines, result.mutable_as<int64_t>()); break;
    default: return call.unknown_type();
  }
  call.give(std::move(result));
  return {};
}

// ---- ai.onnx.ml.LabelEncoder -------------------------------------------------------------------------------------------

template <class T>
std::span<const T> listed(const Call& call, std::string_view name) {
  const Attribute* const found = call.find(name);
  if (!found) return {};
  if constexpr (std::is_same_v<T, std::string>) {
    return found->texts;
  } else {
    return found->numbers;
  }
}

template <class Key, class Value>
Result<void> encode(Call& call, std::string_view keys_name, std::string_view values_name, const Value& otherwise) {
  const auto keys = listed<Key>(call, keys_name);
  const auto values = listed<Value>(call, values_name);
  if (keys.size() != values.size())
    return invalid_argument("there are " + std::to_string(keys.size()) + " keys and " + std::to_string(values.size()) +
                            " values");
  SHOAL_TRY_VOID(call.want(0, dtype_of_v<Key>));
  SHOAL_TRY_VOID(call.budget().take({int64_t(keys.size())}));
  std::map<Key, Value> table;
  for (size_t i = 0; i < keys.size(); ++i) table.emplace(keys[i], values[i]);
  SHOAL_TRY(Tensor result, call.make(dtype_of_v<Value>, call.shape()));
  if constexpr (std::is_same_v<Value, std::string>) {
    size_t longest = otherwise.size();
    for (const std::string& value : values) longest = std::max(longest, value.size());
    SHOAL_TRY_VOID(call.budget().take({int64_t(longest), result.elements()}));
  }
  std::ranges::transform(elements_of<Key>(call.in(0)), elements_of<Value>(result).begin(), [&](const Key& key) {
    const auto found = table.find(key);
    return found == table.end() ? otherwise : found->second;
  });
  call.give(std::move(result));
  return {};
}

template <class Key>
Result<void> encode_from(Call& call, std::string_view keys_name) {
  const bool to_texts = call.find("values_strings"), to_numbers = call.find("values_int64s");
  if (to_texts == to_numbers) return invalid_argument("not one of values_strings and values_int64s is there");
  const Attribute* const text = call.find("default_string");
  if (to_texts) return encode<Key, std::string>(call, keys_name, "values_strings", text ? text->text : "_Unused");
  return encode<Key, int64_t>(call, keys_name, "values_int64s", call.number("default_int64", -1));
}

Result<void> run_label_encoder(Call& call) {
  const bool from_texts = call.find("keys_strings"), from_numbers = call.find("keys_int64s");
  if (from_texts == from_numbers) return invalid_argument("not one of keys_strings and keys_int64s is there");
  return from_texts ? encode_from<std::string>(call, "keys_strings") : encode_from<int64_t>(call, "keys_int64s");
}

}  // namespace

void add_lookups(Kernels& kernels) {
  const KnownAttribute axis{"axis", AttributeType::kInt};
  kernels["Gather"] = {run_gather, 2, 2, {axis}};
  kernels["GatherElements"] = {run_gather_elements, 2, 2, {axis}};
  kernels["OneHot"] = {run_one_hot, 3, 3, {axis}};
  kernels["TopK"] = {run_top_k, 2, 2, {axis, {"largest", AttributeType::kInt}, {"sorted", AttributeType::kInt}}, 2};
  kernels["ArgMax"] = {
      run_arg_max, 1, 1, {axis, {"keepdims", AttributeType::kInt}, {"select_last_index", AttributeType::kInt, "0"}}};
  kernels["ai.onnx.ml.LabelEncoder"] = {run_label_encoder,
                                        1,
                                        1,
                                        {{"keys_strings", AttributeType::kTexts},
                                         {"keys_int64s", AttributeType::kInts},
                                         {"values_strings", AttributeType::kTexts},
                                         {"values_int64s", AttributeType::kInts},
                                         {"default_string", AttributeType::kText},
                                         {"default_int64", AttributeType::kInt}}};
}

}  // namespace shoal::convert::onnx_model
