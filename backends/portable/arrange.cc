// SPDX-License-Identifier: Apache-2.0
// Ops that move elements, by one or several strided copies. If the copies do not cover the whole result, the
// result is filled first.
#include <cstring>
#include <span>

#include "shoal/graph/op.h"
#include "sources.h"
#include "strided.h"
#include "threads.h"

namespace shoal::backends::portable {
namespace {

using Steps = std::array<int64_t, Shape::kRankMax>;

/// A copy between a dense array and an array with other strides, which may be a part of a larger array.
struct Part {
  StridedCopy copy;
  size_t first_byte;  ///< The offset in the array that is not dense, in bytes.
};

enum class Dense { kSource, kTarget };

Part part(const Shape& shape, Dense dense, const Steps& steps, int64_t first, DType dtype) {
  const Steps own = dense_steps(shape);
  std::vector<CopyAxis> axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto a = size_t(axis);
    axes.push_back(dense == Dense::kTarget ? CopyAxis{shape[axis], steps[a], own[a]}
                                           : CopyAxis{shape[axis], own[a], steps[a]});
  }
  return {StridedCopy(std::move(axes), size_of(dtype)), size_t(first) * size_of(dtype)};
}

/// Returns a copy for each tensor in `pieces`. These tensors, joined along `axis`, are the tensor of shape `whole`.
std::vector<Part> parts_along(int axis, const Shape& whole, std::span<const TensorType> pieces, Dense dense) {
  const Steps steps = dense_steps(whole);
  std::vector<Part> parts;
  int64_t begin = 0;
  for (const TensorType& piece : pieces) {
    parts.push_back(part(piece.shape, dense, steps, begin * steps[size_t(axis)], piece.dtype));
    begin += piece.shape[axis];
  }
  return parts;
}

/// Returns the offset of a slice's first element in the whole array. Changes `steps` from those of the whole array to those
/// of the slice.
int64_t slice_steps(const Attributes& attributes, Steps& steps) {
  const auto& begins = attributes.get_ints("begin");
  const auto& strides = attributes.get_ints("stride");
  int64_t first = 0;
  for (size_t axis = 0; axis < begins.size(); ++axis) {
    first += begins[axis] * steps[axis];
    steps[axis] *= strides[axis];
  }
  return first;
}

/// Writes one element `count` times.
void fill_with(int threads, const std::byte* element, size_t bytes, std::byte* to, int64_t count) {
  parallel_for(threads, count, count * int64_t(bytes), [=](int64_t begin, int64_t end) {
    if (bytes == 1) {
      std::memset(to + begin, int(element[0]), size_t(end - begin));
    } else {
      for (int64_t i = begin; i < end; ++i) std::memcpy(to + size_t(i) * bytes, element, bytes);
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> make_transpose(const KernelRequest& request) {
  const auto& permutation = request.node.attributes.get_ints("permutation");
  const Steps from = dense_steps(request.inputs[0].shape);
  Steps steps{};
  for (size_t i = 0; i < permutation.size(); ++i) steps[i] = from[size_t(permutation[i])];
  const TensorType& y = request.outputs[0];
  return make_loop([=, threads = request.threads,
                    moved = part(y.shape, Dense::kTarget, steps, 0, y.dtype)](const KernelCall& call) -> Result<void> {
    moved.copy.run(threads, call.inputs[0].data, call.outputs[0].data);
    return {};
  });
}

std::unique_ptr<Kernel> make_concat(const KernelRequest& request) {
  const auto axis = int(request.node.attributes.get_int("axis"));
  auto parts = parts_along(axis, request.outputs[0].shape, request.inputs, Dense::kSource);
  return make_loop([threads = request.threads, parts = std::move(parts)](const KernelCall& call) -> Result<void> {
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].copy.run(threads, call.inputs[i].data, call.outputs[0].data + parts[i].first_byte);
    }
    return {};
  });
}

std::unique_ptr<Kernel> make_split(const KernelRequest& request) {
  const auto axis = int(request.node.attributes.get_int("axis"));
  auto parts = parts_along(axis, request.inputs[0].shape, request.outputs, Dense::kTarget);
  return make_loop([threads = request.threads, parts = std::move(parts)](const KernelCall& call) -> Result<void> {
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].copy.run(threads, call.inputs[0].data + parts[i].first_byte, call.outputs[i].data);
    }
    return {};
  });
}

std::unique_ptr<Kernel> make_slice(const KernelRequest& request) {
  Steps steps = dense_steps(request.inputs[0].shape);
  const int64_t first = slice_steps(request.node.attributes, steps);
  const TensorType& y = request.outputs[0];
  return make_loop([threads = request.threads,
                    moved = part(y.shape, Dense::kTarget, steps, first, y.dtype)](const KernelCall& call) -> Result<void> {
    moved.copy.run(threads, call.inputs[0].data + moved.first_byte, call.outputs[0].data);
    return {};
  });
}

std::unique_ptr<Kernel> make_slice_grad(const KernelRequest& request) {
  const TensorType &dy = request.inputs[0], &dx = request.outputs[0];
  Steps steps = dense_steps(dx.shape);
  const int64_t first = slice_steps(request.node.attributes, steps);
  const int64_t count = dx.shape.elements();
  return make_loop([=, threads = request.threads, moved = part(dy.shape, Dense::kSource, steps, first, dy.dtype)](
                       const KernelCall& call) -> Result<void> {
    fill(threads, 0.0f, floats(call.outputs[0]), count);
    moved.copy.run(threads, call.inputs[0].data, call.outputs[0].data + moved.first_byte);
    return {};
  });
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& request) {
  const TensorType &x = request.inputs[0], &y = request.outputs[0];
  const Steps steps = dense_steps(y.shape);
  const auto& before = request.node.attributes.get_ints("before");
  int64_t first = 0;
  for (size_t axis = 0; axis < before.size(); ++axis) first += before[axis] * steps[axis];
  const auto element = padding_element(y.dtype, request.node.attributes.get_real("value"));
  const int64_t count = y.shape.elements();
  const size_t bytes = size_of(y.dtype);
  return make_loop([=, threads = request.threads,
                    moved = part(x.shape, Dense::kSource, steps, first, x.dtype)](const KernelCall& call) -> Result<void> {
    fill_with(threads, element.data(), bytes, call.outputs[0].data, count);
    moved.copy.run(threads, call.inputs[0].data, call.outputs[0].data + moved.first_byte);
    return {};
  });
}

}  // namespace shoal::backends::portable
