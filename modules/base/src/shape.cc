// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/shape.h"

namespace shoal {

namespace {

Error too_many(size_t dims) {
  return invalid_argument("a shape has at most " + std::to_string(Shape::kRankMax) + " dimensions, but this one has " +
                          std::to_string(dims));
}

Error negative(size_t axis, int64_t size) {
  return invalid_argument("dimension " + std::to_string(axis) + " of a shape is " + std::to_string(size) +
                          ", but sizes are at least 0");
}

}  // namespace

Shape::Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > size_t(kRankMax)) raise(too_many(dims.size()));
  for (int64_t dim : dims) {
    if (dim < 0) raise(negative(size_t(rank_), dim));
    dims_[size_t(rank_++)] = dim;
  }
}

Result<Shape> Shape::checked(std::span<const int64_t> dims) {
  if (dims.size() > size_t(kRankMax)) return too_many(dims.size());
  int64_t elements = 1;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 0) return negative(axis, dims[axis]);
    // A zero makes the product zero, but the other sizes must not overflow either: strides are products of them.
    if (dims[axis] > 0 && __builtin_mul_overflow(elements, dims[axis], &elements)) {
      return invalid_argument("a shape has more than 2^63 - 1 elements");
    }
  }
  return Shape(dims);
}

Shape Shape::with(int axis, int64_t size) const {
  if (axis < 0 || axis >= rank_) {
    raise(invalid_argument("cannot change the size of axis " + std::to_string(axis) + ": the shape " + to_string(*this) +
                           " has " + std::to_string(rank_) + " axes, which count from 0"));
  }
  if (size < 0) raise(negative(size_t(axis), size));
  Shape changed = *this;
  changed.dims_[size_t(axis)] = size;
  return changed;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

}  // namespace shoal
