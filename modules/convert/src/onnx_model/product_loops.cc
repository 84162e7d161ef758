// SPDX-License-Identifier: Apache-2.0
#include "onnx_model/product_loops.h"

namespace shoal::convert::onnx_model {
namespace {

/// sums[i] += factor * x[i * stride]. A stride of 1 has a loop of its own, which compilers vectorise.
void add_scaled(double* __restrict sums, const double* __restrict x, double factor, int64_t count, int64_t stride) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) sums[i] += factor * x[i];
  } else {
    for (int64_t i = 0; i < count; ++i) sums[i] += factor * x[i * stride];
  }
}

}  // namespace

void add_product(const double* a, const double* b, double* c, int64_t m, int64_t k, int64_t n) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t i = 0; i < k; ++i) add_scaled(c + row * n, b + i * n, a[row * k + i], n, 1);
  }
}

void add_convolution(const Windows& w, const double* picture, const double* kernel, double* sums) {
  for (int64_t channel = 0; channel < w.channels; ++channel) {
    for (int64_t y = 0; y < w.window_height; ++y) {
      for (int64_t x = 0; x < w.window_width; ++x) {
        const double factor = *kernel++;
        const double* row = picture + (channel * w.height + y * w.dilation_y) * w.width + x * w.dilation_x;
        for (int64_t out = 0; out < w.out_height; ++out)
          add_scaled(sums + out * w.out_width, row + out * w.stride_y * w.width, factor, w.out_width, w.stride_x);
      }
    }
  }
}

}  // namespace shoal::convert::onnx_model
