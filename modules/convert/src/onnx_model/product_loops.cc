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

/// Adds rows, each times a factor, to sums. Four rows are added at once, so sums are read and written a quarter as often.
class ScaledRows {
 public:
  ScaledRows(double* sums, int64_t count) : sums_(sums), count_(count) {}
  void add(const double* x, double factor) {
    x_[rows_] = x;
    factor_[rows_] = factor;
    if (++rows_ == 4) add_four();
  }
  /// Adds the last rows, fewer than four. Before this call, the sums are incomplete.
  void finish() {
    for (int i = 0; i < rows_; ++i) add_scaled(sums_, x_[i], factor_[i], count_, 1);
    rows_ = 0;
  }

 private:
  void add_four() {
    double* __restrict sums = sums_;
    const double* __restrict a = x_[0], * __restrict b = x_[1], * __restrict c = x_[2], * __restrict d = x_[3];
    const double of_a = factor_[0], of_b = factor_[1], of_c = factor_[2], of_d = factor_[3];
    for (int64_t i = 0; i < count_; ++i) sums[i] += (of_a * a[i] + of_b * b[i]) + (of_c * c[i] + of_d * d[i]);
    rows_ = 0;
  }

  double* sums_;
  int64_t count_;
  int rows_ = 0;
  const double* x_[4] = {};
  double factor_[4] = {};
};

/// Convolves with a stride of 1 as if all rows of the picture were one long row. Sums whose windows reach across the end of
/// a row are not used.
void add_dense_windows(const Windows& w, const double* picture, const double* kernel, double* sums) {
  ScaledRows rows(sums, (w.out_height - 1) * w.width + w.out_width);
  for (int64_t channel = 0; channel < w.channels; ++channel) {
    for (int64_t y = 0; y < w.window_height; ++y) {
      for (int64_t x = 0; x < w.window_width; ++x)
        rows.add(picture + (channel * w.height + y * w.dilation_y) * w.width + x * w.dilation_x, *kernel++);
    }
  }
  rows.finish();
}

}  // namespace

void add_product(const double* a, const double* b, double* c, int64_t m, int64_t k, int64_t n) {
  for (int64_t row = 0; row < m; ++row) {
    ScaledRows rows(c + row * n, n);
    for (int64_t i = 0; i < k; ++i) rows.add(b + i * n, a[row * k + i]);
    rows.finish();
  }
}

void add_convolution(const Windows& w, const double* picture, const double* kernel, double* sums) {
  if (w.stride_y == 1 && w.stride_x == 1) return add_dense_windows(w, picture, kernel, sums);
  for (int64_t channel = 0; channel < w.channels; ++channel) {
    for (int64_t y = 0; y < w.window_height; ++y) {
      for (int64_t x = 0; x < w.window_width; ++x) {
        const double factor = *kernel++;
        const double* row = picture + (channel * w.height + y * w.dilation_y) * w.width + x * w.dilation_x;
        for (int64_t out = 0; out < w.out_height; ++out)
          add_scaled(sums + out * w.width, row + out * w.stride_y * w.width, factor, w.out_width, w.stride_x);
      }
    }
  }
}

}  // namespace shoal::convert::onnx_model
