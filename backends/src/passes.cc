// SPDX-License-Identifier: Apache-2.0
#include "passes.h"

#include "shoal/base/vector_loop.h"
#include "threads.h"

namespace shoal::backends {
namespace {

constexpr int64_t kFloat = int64_t(sizeof(float));

SHOAL_VECTOR_LOOP void relu_range(const float* x, float* y, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

SHOAL_VECTOR_LOOP void add_bias_rows(const float* __restrict bias, int64_t channels, float* __restrict y, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < channels; ++c) y[row * channels + c] += bias[c];
  }
}

SHOAL_VECTOR_LOOP void sum_range(const float* __restrict parts, int64_t arrays, int64_t stride, int64_t count,
                                 float* __restrict y) {
  constexpr int64_t kTogether = 16;  // This many sums fit into registers.
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    float sums[kTogether];
    for (int64_t lane = 0; lane < kTogether; ++lane) sums[lane] = parts[i + lane];
    for (int64_t k = 1; k < arrays; ++k) {
      for (int64_t lane = 0; lane < kTogether; ++lane) sums[lane] += parts[k * stride + i + lane];
    }
    for (int64_t lane = 0; lane < kTogether; ++lane) y[i + lane] = sums[lane];
  }
  for (; i < count; ++i) {
    float sum = parts[i];
    for (int64_t k = 1; k < arrays; ++k) sum += parts[k * stride + i];
    y[i] = sum;
  }
}

}  // namespace

void relu(int threads, const float* x, float* y, int64_t count) {
  parallel_for(threads, count, 2 * kFloat * count, [=](int64_t begin, int64_t end) { relu_range(x, y, begin, end); });
}

void add_bias(int threads, const float* bias, int64_t channels, float* y, int64_t count) {
  parallel_for(threads, count / channels, 2 * kFloat * count,
               [=](int64_t begin, int64_t end) { add_bias_rows(bias, channels, y + begin * channels, end - begin); });
}

void finish_rows(float* y, int64_t stride, int64_t rows, int64_t columns, const float* bias, bool activate) {
  for (int64_t row = 0; row < rows; ++row, y += stride) {
    if (bias) add_bias_rows(bias, columns, y, 1);
    if (activate) relu_range(y, y, 0, columns);
  }
}

void sum_arrays(const float* parts, int64_t arrays, int64_t stride, int64_t count, float* y) {
  sum_range(parts, arrays, stride, count, y);
}

}  // namespace shoal::backends
