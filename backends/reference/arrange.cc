// SPDX-License-Identifier: Apache-2.0
// Ops that move elements. Each loop visits one tensor in row-major order and computes the position in the other tensor.
#include <array>
#include <cstring>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

using Steps = std::array<int64_t, Shape::kRankMax>;

/// The distance between neighbours along each axis, in elements.
Steps steps_of(const Shape& shape) {
  Steps steps{};
  int64_t step = 1;
  for (int axis = shape.rank(); axis-- > 0; step *= shape[axis]) steps[size_t(axis)] = step;
  return steps;
}

/// Calls visit(i, first + sum over axes of index[axis] * steps[axis]) for element i = 0, 1, ... of `shape`.
template <class Visit>
void walk(const Shape& shape, int64_t first, const Steps& steps, Visit visit) {
  const int64_t count = shape.elements();
  Steps index{};
  for (int64_t i = 0, at = first; i < count; ++i) {
    visit(i, at);
    for (int axis = shape.rank(); axis-- > 0;) {
      at += steps[size_t(axis)];
      if (++index[size_t(axis)] < shape[axis]) break;
      at -= steps[size_t(axis)] * shape[axis];
      index[size_t(axis)] = 0;
    }
  }
}

void copy_element(std::byte* to, int64_t to_index, const std::byte* from, int64_t from_index, size_t bytes) {
  std::memcpy(to + size_t(to_index) * bytes, from + size_t(from_index) * bytes, bytes);
}

std::unique_ptr<Kernel> make_transpose(const KernelRequest& request) {
  const auto& permutation = request.node.attributes.get_ints("permutation");
  const Steps from = steps_of(request.inputs[0].shape);
  Steps steps{};
  for (size_t i = 0; i < permutation.size(); ++i) steps[i] = from[size_t(permutation[i])];
  return make_loop([steps](const KernelCall& call) -> Result<void> {
    const MutableTensorView y = call.outputs[0];
    walk(y.shape, 0, steps,
         [&](int64_t i, int64_t at) { copy_element(y.data, i, call.inputs[0].data, at, size_of(y.dtype)); });
    return {};
  });
}

/// Pieces that follow one another along an axis, and the whole tensor that they make.
struct Pieces {
  int64_t axis;
  Steps steps;  ///< For each axis of the whole tensor: the distance between neighbours, in elements.

  Pieces(const KernelRequest& request, const Shape& whole)
      : axis(request.node.attributes.get_int("axis")), steps(steps_of(whole)) {}
  /// Calls visit(i, at) for each element of a piece: i is its index in the piece, and `at` its index in the whole tensor.
  /// The piece begins at position `begin` of the axis along which pieces follow one another.
  template <class Visit>
  void walk_piece(const Shape& piece, int64_t begin, Visit visit) const {
    walk(piece, begin * steps[size_t(axis)], steps, visit);
  }
};

std::unique_ptr<Kernel> make_concat(const KernelRequest& request) {
  return make_loop([pieces = Pieces(request, request.outputs[0].shape)](const KernelCall& call) -> Result<void> {
    const MutableTensorView y = call.outputs[0];
    int64_t begin = 0;
    for (const TensorView& x : call.inputs) {
      pieces.walk_piece(x.shape, begin,
                        [&](int64_t i, int64_t at) { copy_element(y.data, at, x.data, i, size_of(x.dtype)); });
      begin += x.shape[int(pieces.axis)];
    }
    return {};
  });
}

std::unique_ptr<Kernel> make_split(const KernelRequest& request) {
  return make_loop([pieces = Pieces(request, request.inputs[0].shape)](const KernelCall& call) -> Result<void> {
    const TensorView x = call.inputs[0];
    int64_t begin = 0;
    for (const MutableTensorView& y : call.outputs) {
      pieces.walk_piece(y.shape, begin,
                        [&](int64_t i, int64_t at) { copy_element(y.data, i, x.data, at, size_of(x.dtype)); });
      begin += y.shape[int(pieces.axis)];
    }
    return {};
  });
}

/// The positions of a slice's elements in the whole tensor.
struct Slice {
  int64_t first = 0;
  Steps steps{};

  Slice(const KernelRequest& request, const Shape& whole) : steps(steps_of(whole)) {
    const auto& begins = request.node.attributes.get_ints("begin");
    const auto& strides = request.node.attributes.get_ints("stride");
    for (size_t axis = 0; axis < begins.size(); ++axis) {
      first += begins[axis] * steps[axis];
      steps[axis] *= strides[axis];
    }
  }
};

std::unique_ptr<Kernel> make_slice(const KernelRequest& request) {
  return make_loop([slice = Slice(request, request.inputs[0].shape)](const KernelCall& call) -> Result<void> {
    const MutableTensorView y = call.outputs[0];
    walk(y.shape, slice.first, slice.steps,
         [&](int64_t i, int64_t at) { copy_element(y.data, i, call.inputs[0].data, at, size_of(y.dtype)); });
    return {};
  });
}

std::unique_ptr<Kernel> make_slice_grad(const KernelRequest& request) {
  return make_loop([slice = Slice(request, request.outputs[0].shape)](const KernelCall& call) -> Result<void> {
    const auto dy = call.inputs[0].as<float>();
    const auto dx = call.outputs[0].as<float>();
    std::fill(dx.begin(), dx.end(), 0.0f);
    walk(call.inputs[0].shape, slice.first, slice.steps, [&](int64_t i, int64_t at) { dx[size_t(at)] = dy[size_t(i)]; });
    return {};
  });
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& request) {
  const Steps steps = steps_of(request.outputs[0].shape);
  const auto& before = request.node.attributes.get_ints("before");
  int64_t first = 0;
  for (size_t axis = 0; axis < before.size(); ++axis) first += before[axis] * steps[axis];
  const auto value = padding_element(request.outputs[0].dtype, request.node.attributes.get_real("value"));
  return make_loop([=](const KernelCall& call) -> Result<void> {
    const TensorView x = call.inputs[0];
    const MutableTensorView y = call.outputs[0];
    const size_t bytes = size_of(x.dtype);
    for (int64_t i = 0; i < y.elements(); ++i) copy_element(y.data, i, value.data(), 0, bytes);
    walk(x.shape, first, steps, [&](int64_t i, int64_t at) { copy_element(y.data, at, x.data, i, bytes); });
    return {};
  });
}

}  // namespace

void add_arrange(const AddMaker& add) {
  add("transpose", make_transpose);
  add("concat", make_concat);
  add("split", make_split);
  add("slice", make_slice);
  add("slice_grad", make_slice_grad);
  add("pad", make_pad);
}

}  // namespace shoal::backends::reference
