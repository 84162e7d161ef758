// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The loops in which a run of an ONNX file spends most of its time. Sums are double; all operands are dense.
#include <cstdint>

namespace shoal::convert::onnx_model {

/// Adds the product of a [m, k] and b [k, n] to c.
void add_product(const double* a, const double* b, double* c, int64_t m, int64_t k, int64_t n);

/// The sizes of a padded picture, and of the windows that move over it.
struct Windows {
  int64_t channels, height, width;  ///< Sizes of the padded picture.
  int64_t window_height, window_width;
  int64_t stride_y, stride_x, dilation_y, dilation_x;
  int64_t out_height, out_width;
};

/// sums += picture [channels, height, width] * kernel [channels, window_height, window_width]. `sums` has out_height rows
/// of `width` numbers each, of which the first out_width are the result; the others are not defined.
void add_convolution(const Windows& windows, const double* picture, const double* kernel, double* sums);

}  // namespace shoal::convert::onnx_model
