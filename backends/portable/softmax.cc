// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and cross-entropy, row by row: exponentials are vectorised, and a row stays in the first-level cache
// between its passes.
#include <string>

#include "sources.h"
#include "threads.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

SHOAL_VECTOR_LOOP float max_of(const float* x, int64_t count) {
  float best = x[0];
  for (int64_t i = 1; i < count; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

/// y = e^(x - highest).
SHOAL_VECTOR_LOOP void exponentials(const float* x, float highest, float* y, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) y[i] = vector_exp(x[i] - highest);
}

/// Sums a short row, with 16 running sums.
SHOAL_VECTOR_LOOP float row_sum(const float* x, int64_t count) {
  return sum_in_lanes<16>(
      count, [x](int64_t i) __attribute__((always_inline)) { return x[i]; });
}

/// The sum of e^(x - highest), without storing the terms.
SHOAL_VECTOR_LOOP float exponential_sum(const float* x, float highest, int64_t count) {
  return sum_in_lanes<16>(
      count, [ x, highest ](int64_t i) __attribute__((always_inline)) { return vector_exp(x[i] - highest); });
}

SHOAL_VECTOR_LOOP float row_dot(const float* a, const float* b, int64_t count) {
  return sum_in_lanes<16>(
      count, [ a, b ](int64_t i) __attribute__((always_inline)) { return a[i] * b[i]; });
}

SHOAL_VECTOR_LOOP void divide_row(float divisor, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] /= divisor;
}

SHOAL_VECTOR_LOOP void subtract(const float* x, float value, float* y, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] - value;
}

/// dx = (softmax - label) * dloss.
SHOAL_VECTOR_LOOP void softmax_less(const float* softmax, float label, float dloss, float* dx, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dx[i] = (softmax[i] - label) * dloss;
}

/// dx = (dy - mean) * y.
SHOAL_VECTOR_LOOP void softmax_grad_elements(const float* dy, const float* y, float mean, float* dx, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dx[i] = (dy[i] - mean) * y[i];
}

/// dx = dy - e^y * total.
SHOAL_VECTOR_LOOP void log_softmax_grad_row(const float* dy, const float* y, float total, float* dx, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dx[i] = dy[i] - vector_exp(y[i]) * total;
}

/// The logarithm of `sum`, a sum of exponentials; `sum` may be infinite or NaN.
float log_of(float sum) { return sum == sum ? float(vector_log_wide(sum)) : sum; }

void log_softmax_row(const float* x, float* y, int64_t count) {
  const float highest = max_of(x, count);
  // Subtracts `highest` and log_sum one after the other, since highest + log_sum would round away a small log_sum.
  const float log_sum = log_of(exponential_sum(x, highest, count));
  subtract(x, highest, y, count);
  subtract(y, log_sum, y, count);
}

/// Calls body(row) for all rows, on several threads if that is worth it. parallel_for() expects the cost of the work as
/// bytes of memory traffic: one element takes as long as moving 16 bytes, because of its exponential.
template <class Body>
void for_rows(int threads, int64_t rows, int64_t columns, const Body& body) {
  parallel_for(threads, rows, rows * columns * 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(row);
  });
}

struct Rows {
  int64_t rows, columns;
  explicit Rows(const Shape& shape) : columns(shape[shape.rank() - 1]) { rows = shape.elements() / columns; }
};

Result<void> check_labels(const int64_t* labels, int64_t rows, int64_t classes) {
  for (int64_t row = 0; row < rows; ++row) {
    if (labels[row] < 0 || labels[row] >= classes) [[unlikely]] {
      return invalid_argument("label " + std::to_string(labels[row]) + " in row " + std::to_string(row) +
                              " is outside [0, " + std::to_string(classes) + ")")
          .with_place({labels, row});
    }
  }
  return {};
}

float smoothing_of(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  return attributes.has("label_smoothing") ? float(attributes.get_real("label_smoothing")) : 0.0f;
}

}  // namespace

void softmax_row(const float* x, float* y, int64_t count) {
  exponentials(x, max_of(x, count), y, count);
  divide_row(row_sum(y, count), y, count);
}

void softmax_grad_row(const float* dy, const float* y, float* dx, int64_t count) {
  softmax_grad_elements(dy, y, row_dot(dy, y, count), dx, count);
}

std::unique_ptr<Kernel> make_softmax(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const auto row_loop = request.node.op == "log_softmax" ? &log_softmax_row : &softmax_row;
  const Rows size(request.inputs[0].shape);
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float* x = floats(call.inputs[0]);
    float* y = floats(call.outputs[0]);
    for_rows(threads, size.rows, size.columns,
             [=](int64_t row) { row_loop(x + row * size.columns, y + row * size.columns, size.columns); });
    return {};
  });
}

std::unique_ptr<Kernel> make_softmax_grad(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const bool logarithmic = request.node.op == "log_softmax_grad";
  const Rows size(request.inputs[0].shape);
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    for_rows(threads, size.rows, size.columns, [&](int64_t row) {
      const int64_t first = row * size.columns;
      const float *dy = floats(call.inputs[0]) + first, *y = floats(call.inputs[1]) + first;
      float* dx = floats(call.outputs[0]) + first;
      if (logarithmic) {
        log_softmax_grad_row(dy, y, row_sum(dy, size.columns), dx, size.columns);
      } else {
        softmax_grad_row(dy, y, dx, size.columns);
      }
    });
    return {};
  });
}

std::unique_ptr<Kernel> make_cross_entropy(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Rows size(request.inputs[0].shape);
  const float smoothing = smoothing_of(request);
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const int64_t* labels = reinterpret_cast<const int64_t*>(call.inputs[1].data);
    SHOAL_TRY_VOID(check_labels(labels, size.rows, size.columns));
    for_rows(threads, size.rows, size.columns, [&](int64_t row) {
      const float* logits = floats(call.inputs[0]) + row * size.columns;
      float* softmax = floats(call.outputs[1]) + row * size.columns;
      const float highest = max_of(logits, size.columns);
      // The label's logit is read before softmax is written, which may overwrite logits.
      float expected = logits[labels[row]] - highest;
      if (smoothing > 0.0f) {
        const float mean = row_sum(logits, size.columns) / float(size.columns) - highest;
        expected += smoothing * (mean - expected);
      }
      exponentials(logits, highest, softmax, size.columns);
      const float total = row_sum(softmax, size.columns);
      divide_row(total, softmax, size.columns);
      floats(call.outputs[0])[row] = log_of(total) - expected;
    });
    return {};
  });
}

std::unique_ptr<Kernel> make_cross_entropy_grad(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Rows size(request.inputs[0].shape);
  const float smoothing = smoothing_of(request), everywhere = smoothing / float(size.columns);
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const int64_t* labels = reinterpret_cast<const int64_t*>(call.inputs[1].data);
    const float* loss_gradient = floats(call.inputs[2]);
    SHOAL_TRY_VOID(check_labels(labels, size.rows, size.columns));
    for_rows(threads, size.rows, size.columns, [&](int64_t row) {
      const float* softmax = floats(call.inputs[0]) + row * size.columns;
      float* dx = floats(call.outputs[0]) + row * size.columns;
      const float target = softmax[labels[row]];
      if (smoothing > 0.0f) {
        softmax_less(softmax, everywhere, loss_gradient[row], dx, size.columns);
      } else {
        scale(1, softmax, loss_gradient[row], dx, size.columns);
      }
      dx[labels[row]] = (target - everywhere - (1.0f - smoothing)) * loss_gradient[row];
    });
    return {};
  });
}

}  // namespace shoal::backends::portable
