// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

// Treats a tensor as a matrix: its last axis has the columns, and all axes before that give the rows.
int64_t columns_of(const Shape& shape) { return shape[shape.rank() - 1]; }
int64_t rows_of(const Shape& shape) {
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) rows *= shape[axis];
  return rows;
}

std::unique_ptr<Kernel> make_dense(const KernelRequest& request) {
  const bool activate = request.node.attributes.get_string("activation") == "relu";
  return make_loop([activate](const KernelCall& call) -> Result<void> {
    const int64_t rows = rows_of(call.outputs[0].shape);
    const int64_t outputs = columns_of(call.outputs[0].shape);
    const int64_t features = columns_of(call.inputs[0].shape);
    const float* x = call.inputs[0].as<float>().data();
    const float* kernel = call.inputs[1].as<float>().data();
    const float* bias = call.inputs.size() > 2 ? call.inputs[2].as<float>().data() : nullptr;
    float* y = call.outputs[0].as<float>().data();
    for (int64_t n = 0; n < rows; ++n) {
      for (int64_t o = 0; o < outputs; ++o) {
        const double sum = dot(x + n * features, kernel + o * features, features) + (bias ? double(bias[o]) : 0.0);
        y[n * outputs + o] = activate ? relu(float(sum)) : float(sum);
      }
    }
    return {};
  });
}

/// to[i] = sum over k of factors[k * stride] * x[k, i], for x [count, width].
void sum_of_rows(const float* factors, int64_t stride, const float* x, int64_t count, int64_t width, double* sums,
                 float* to) {
  std::fill_n(sums, width, 0.0);
  for (int64_t k = 0; k < count; ++k) add_scaled(sums, factors[k * stride], x + k * width, width);
  round_to(to, sums, width);
}

/// dx[n, i] = sum over o of dy[n, o] * kernel[o, i].
std::unique_ptr<Kernel> make_dense_grad_input(const KernelRequest& request) {
  const int64_t features = columns_of(request.outputs[0].shape);
  auto loop = [features](const KernelCall& call) -> Result<void> {
    const int64_t rows = rows_of(call.inputs[0].shape);
    const int64_t outputs = columns_of(call.inputs[0].shape);
    const float* dy = call.inputs[0].as<float>().data();
    const float* kernel = call.inputs[1].as<float>().data();
    float* dx = call.outputs[0].as<float>().data();
    auto* sums = reinterpret_cast<double*>(call.scratch);
    for (int64_t n = 0; n < rows; ++n) {
      sum_of_rows(dy + n * outputs, 1, kernel, outputs, features, sums, dx + n * features);
    }
    return {};
  };
  return make_loop(loop, size_t(features) * sizeof(double));
}

/// dkernel[o, i] = sum over n of dy[n, o] * x[n, i].
std::unique_ptr<Kernel> make_dense_grad_kernel(const KernelRequest& request) {
  const int64_t features = columns_of(request.outputs[0].shape);
  auto loop = [features](const KernelCall& call) -> Result<void> {
    const int64_t rows = rows_of(call.inputs[0].shape);
    const int64_t outputs = columns_of(call.inputs[0].shape);
    const float* dy = call.inputs[0].as<float>().data();
    const float* x = call.inputs[1].as<float>().data();
    float* dkernel = call.outputs[0].as<float>().data();
    auto* sums = reinterpret_cast<double*>(call.scratch);
    for (int64_t o = 0; o < outputs; ++o) {
      sum_of_rows(dy + o, outputs, x, rows, features, sums, dkernel + o * features);
    }
    return {};
  };
  return make_loop(loop, size_t(features) * sizeof(double));
}

std::unique_ptr<Kernel> make_bias_grad(const KernelRequest& request) {
  const int64_t channels = request.outputs[0].shape[0];
  auto loop = [channels](const KernelCall& call) -> Result<void> {
    const auto dy = call.inputs[0].as<float>();
    auto* sums = reinterpret_cast<double*>(call.scratch);
    std::fill_n(sums, channels, 0.0);
    for (size_t row = 0; row < dy.size(); row += size_t(channels)) add_scaled(sums, 1.0f, dy.data() + row, channels);
    round_to(call.outputs[0].as<float>().data(), sums, channels);
    return {};
  };
  return make_loop(loop, size_t(channels) * sizeof(double));
}

}  // namespace

void add_dense(const AddMaker& add) {
  add("dense", make_dense);
  add("dense_grad_input", make_dense_grad_input);
  add("dense_grad_kernel", make_dense_grad_kernel);
  add("bias_grad", make_bias_grad);
}

}  // namespace shoal::backends::reference
