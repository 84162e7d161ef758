// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions that backends call after a matrix product, to process its whole result. The bits of each element do not depend
/// on the number of threads. The output `y` may be the same array as the input `x`.
#include <cstdint>

namespace shoal::backends {

/// y = max(x, 0); NaN stays NaN.
void relu(int threads, const float* x, float* y, int64_t count);
/// y[row][c] += bias[c].
void add_bias(int threads, const float* bias, int64_t channels, float* y, int64_t count);
/// Finishes `columns` columns of `rows` rows that lie `stride` apart: adds bias[c] to y[row][c] unless `bias` is null, then
/// applies relu if `activate`. Runs on the calling thread.
void finish_rows(float* y, int64_t stride, int64_t rows, int64_t columns, const float* bias, bool activate);
/// y[i] = parts[i] + parts[stride + i] + ..., in that order, for `arrays` arrays of `count` floats. Runs on the calling
/// thread.
void sum_arrays(const float* parts, int64_t arrays, int64_t stride, int64_t count, float* y);

}  // namespace shoal::backends
