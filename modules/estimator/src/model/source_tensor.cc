// SPDX-License-Identifier: Apache-2.0
#include "model/source_tensor.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace shoal {
namespace {

using Step = SourceTensorStep;

std::string numbers_text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text.append(text.empty() ? "{" : ", ").append(std::to_string(number));
  return text.empty() ? "{}" : text + "}";
}

std::string to_string(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kTranspose: return "transposed(" + numbers_text(step.numbers) + ")";
    case Step::Kind::kReshape: return "reshaped(" + numbers_text(step.numbers) + ")";
    case Step::Kind::kParts: return "parts(" + std::to_string(step.count) + ", " + numbers_text(step.numbers) + ")";
    case Step::Kind::kJoin: return "followed_by(" + shoal::to_string(step.others[0]) + ")";
    case Step::Kind::kAdd: return "plus(" + shoal::to_string(step.others[0]) + ")";
  }
  return {};
}

Result<Shape> transposed_shape(const Shape& from, const std::vector<int64_t>& axes) {
  std::vector<int64_t> sorted = axes, all(size_t(from.rank())), sizes;
  std::ranges::sort(sorted);
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return invalid_argument("the axes must be 0 to " + std::to_string(from.rank() - 1) + " in any order");
  for (const int64_t axis : axes) sizes.push_back(from[int(axis)]);
  return Shape::checked(sizes);
}

Result<Shape> reshaped_shape(const Shape& from, std::vector<int64_t> sizes) {
  size_t open = sizes.size();
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 0) {
      if (axis >= size_t(from.rank())) return invalid_argument("it has no axis " + std::to_string(axis));
      sizes[axis] = from[int(axis)];
    } else if (sizes[axis] == -1) {
      if (open != sizes.size()) return invalid_argument("-1 stands there twice");
      open = axis;
      sizes[axis] = 1;
    }
  }
  SHOAL_TRY(Shape shape, Shape::checked(sizes));
  if (open != sizes.size() && shape.elements() > 0) shape = shape.with(int(open), from.elements() / shape.elements());
  if (shape.elements() == from.elements()) return shape;
  return invalid_argument(std::to_string(from.elements()) + " elements do not make up " + to_string(shape));
}

Result<Shape> parts_shape(const Shape& from, const Step& step) {
  if (from.rank() == 0 || step.count < 1 || from[0] % step.count != 0) {
    return invalid_argument("axis 0 cannot be cut into " + std::to_string(step.count) + " equal parts");
  }
  for (const int64_t part : step.numbers) {
    if (part < 0 || part >= step.count) return invalid_argument("there is no part " + std::to_string(part));
  }
  std::vector<int64_t> sizes(from.dims().begin(), from.dims().end());
  sizes[0] = from[0] / step.count * int64_t(step.numbers.size());
  return Shape::checked(sizes);
}

Result<TensorType> joined_type(const TensorType& first, const TensorType& second) {
  const int rank = first.shape.rank();
  if (first.dtype == second.dtype && rank > 0 && rank == second.shape.rank() &&
      first.shape.with(0, 0) == second.shape.with(0, 0)) {
    std::vector<int64_t> sizes(first.shape.dims().begin(), first.shape.dims().end());
    sizes[0] += second.shape[0];
    SHOAL_TRY(const Shape shape, Shape::checked(sizes));
    return TensorType{first.dtype, shape};
  }
  return invalid_argument("the other one is " + std::string(to_string(second.dtype)) + " " + to_string(second.shape));
}

Result<TensorType> added_type(const TensorType& first, const TensorType& second) {
  if (first.dtype == DType::kFloat32 && second.dtype == DType::kFloat32 && first.shape == second.shape) return first;
  return invalid_argument("only float32 of one shape are added, and the other one is " +
                          std::string(to_string(second.dtype)) + " " + to_string(second.shape));
}

Result<TensorType> with_shape(const TensorType& type, Result<Shape> shape) {
  if (!shape) return std::move(shape).error();
  return TensorType{type.dtype, *shape};
}

/// Transposes elements of `width` bytes from `from` into `to`. Axis i of `to` is axis axes[i] of `from`.
void transpose_into(const Tensor& from, const std::vector<int64_t>& axes, size_t width, Tensor& to) {
  const Shape &source = from.shape(), &shape = to.shape();
  std::vector<size_t> strides(size_t(source.rank())), step(axes.size());
  size_t stride = width;
  for (int axis = source.rank() - 1; axis >= 0; --axis) {
    strides[size_t(axis)] = stride;
    stride *= size_t(source[axis]);
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) step[axis] = strides[size_t(axes[axis])];
  std::vector<int64_t> index(axes.size());
  const std::byte* in = from.view().data;
  std::byte* out = to.mutable_view().data;
  for (int64_t i = 0; i < from.elements(); ++i, out += width) {
    std::memcpy(out, in, width);
    for (size_t axis = axes.size(); axis-- > 0;) {
      in += step[axis];
      if (++index[axis] < shape[int(axis)]) break;
      in -= step[axis] * size_t(shape[int(axis)]);
      index[axis] = 0;
    }
  }
}

Tensor parts_of(const Tensor& from, const Step& step, const Shape& shape) {
  Tensor to(from.dtype(), shape);
  if (to.bytes() == 0) return to;
  const size_t bytes = from.bytes() / size_t(step.count);
  std::byte* out = to.mutable_view().data;
  for (const int64_t part : step.numbers) {
    std::memcpy(out, from.view().data + size_t(part) * bytes, bytes);
    out += bytes;
  }
  return to;
}

Tensor joined(const Tensor& first, const Tensor& second, const Shape& shape) {
  Tensor to(first.dtype(), shape);
  if (first.bytes() > 0) std::memcpy(to.mutable_view().data, first.view().data, first.bytes());
  if (second.bytes() > 0) std::memcpy(to.mutable_view().data + first.bytes(), second.view().data, second.bytes());
  return to;
}

Tensor sum_of(const Tensor& first, const Tensor& second) {
  Tensor sum(DType::kFloat32, first.shape());
  std::ranges::transform(first.as<float>(), second.as<float>(), sum.mutable_as<float>().begin(), std::plus<float>());
  return sum;
}

/// Returns the type of the result if `step` (a transposition, say) is applied to a tensor of type `type`. If the step joins
/// or adds two tensors, `other` is the type of the second one.
Result<TensorType> type_after(const Step& step, const TensorType& type, const TensorType& other) {
  switch (step.kind) {
    case Step::Kind::kTranspose: return with_shape(type, transposed_shape(type.shape, step.numbers));
    case Step::Kind::kReshape: return with_shape(type, reshaped_shape(type.shape, step.numbers));
    case Step::Kind::kParts: return with_shape(type, parts_shape(type.shape, step));
    case Step::Kind::kJoin: return joined_type(type, other);
    case Step::Kind::kAdd: return added_type(type, other);
  }
  return type;
}

Tensor value_after(const Step& step, const Tensor& value, const Tensor& other, const Shape& shape) {
  switch (step.kind) {
    case Step::Kind::kTranspose: {
      Tensor to(value.dtype(), shape);
      transpose_into(value, step.numbers, size_of(value.dtype()), to);
      return to;
    }
    case Step::Kind::kReshape: return value.reshaped(shape);
    case Step::Kind::kParts: return parts_of(value, step, shape);
    case Step::Kind::kJoin: return joined(value, other, shape);
    case Step::Kind::kAdd: return sum_of(value, other);
  }
  return value;
}

}  // namespace

SourceTensor::SourceTensor(const char* name) : SourceTensor(std::string(name)) {}
SourceTensor::SourceTensor(std::string name) : name_(std::move(name)) {}

SourceTensor SourceTensor::with(SourceTensorStep step) const {
  SourceTensor result = *this;
  result.steps_.push_back(std::move(step));
  return result;
}

SourceTensor SourceTensor::transposed(std::vector<int64_t> axes) const {
  return with({.kind = Step::Kind::kTranspose, .numbers = std::move(axes)});
}
SourceTensor SourceTensor::reshaped(std::vector<int64_t> sizes) const {
  return with({.kind = Step::Kind::kReshape, .numbers = std::move(sizes)});
}
SourceTensor SourceTensor::parts(int64_t count, std::vector<int64_t> order) const {
  return with({.kind = Step::Kind::kParts, .numbers = std::move(order), .count = count});
}
SourceTensor SourceTensor::followed_by(SourceTensor next) const {
  return with({.kind = Step::Kind::kJoin, .others = {std::move(next)}});
}
SourceTensor SourceTensor::plus(SourceTensor other) const {
  return with({.kind = Step::Kind::kAdd, .others = {std::move(other)}});
}

std::set<std::string> names_in(const SourceTensor& source) {
  std::set<std::string> names{source.name()};
  for (const Step& step : source.steps()) {
    for (const SourceTensor& other : step.others) names.merge(names_in(other));
  }
  return names;
}

std::string to_string(const SourceTensor& source) {
  std::string text = source.name();
  for (const Step& step : source.steps()) text.append(".").append(to_string(step));
  return text;
}

Result<TensorType> source_type(const SourceTensor& source,
                               const std::function<Result<TensorType>(const std::string&)>& type_of) {
  SHOAL_TRY(TensorType type, type_of(source.name()));
  for (const Step& step : source.steps()) {
    TensorType other;
    if (!step.others.empty()) {
      SHOAL_TRY(other, source_type(step.others[0], type_of));
    }
    auto after = type_after(step, type, other);
    if (!after) {
      return std::move(after).error().with_context(source.name() + ": " + to_string(step) + " does not fit " +
                                                   std::string(to_string(type.dtype)) + " " + to_string(type.shape));
    }
    type = *after;
  }
  return type;
}

Result<Tensor> source_value(const SourceTensor& source, const std::function<Result<Tensor>(const std::string&)>& read) {
  SHOAL_TRY(Tensor value, read(source.name()));
  for (const Step& step : source.steps()) {
    Tensor other;
    if (!step.others.empty()) {
      SHOAL_TRY(other, source_value(step.others[0], read));
    }
    SHOAL_TRY(const TensorType type, type_after(step, {value.dtype(), value.shape()}, {other.dtype(), other.shape()}));
    value = value_after(step, value, other, type.shape);
  }
  return value;
}

}  // namespace shoal
