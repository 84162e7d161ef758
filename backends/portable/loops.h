// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Shoal's own loops, used where oneDNN has no kernel or only a slow reference kernel, or where its call costs more than
/// the computation. The bits of each element do not depend on the number of threads. `y` may be one of the inputs unless a
/// comment says otherwise.
#include <cstdint>

namespace shoal::backends::portable {

void relu_grad(int threads, const float* dy, const float* output, float* dx, int64_t count);
void add(int threads, const float* a, const float* b, float* y, int64_t count);
void sub(int threads, const float* a, const float* b, float* y, int64_t count);
void mul(int threads, const float* a, const float* b, float* y, int64_t count);
void scale(int threads, const float* x, float factor, float* y, int64_t count);
void square(int threads, const float* x, float* y, int64_t count);
void divide(int threads, const float* x, float divisor, float* y, int64_t count);
void fill(int threads, float value, float* y, int64_t count);
void bytes_to_floats(int threads, const uint8_t* x, float* y, int64_t count);
/// y[i] = bits[i] >= threshold ? x[i] * factor : 0.
void keep(const float* x, const uint32_t* bits, uint32_t threshold, float factor, float* y, int64_t count);

/// Softmax of one row, count >= 1; `y` may be x.
void softmax_row(const float* x, float* y, int64_t count);
/// The gradient of softmax_row(), dx = (dy - sum(dy * y)) * y; `dx` may be dy.
void softmax_grad_row(const float* dy, const float* y, float* dx, int64_t count);

/// Returns the sum of x in a fixed order: sums up blocks of 4096 elements in 64 lanes each, and then adds the blocks
/// pairwise.
float sum(const float* x, int64_t count);

/// sum_rows() computes y[c] = sum over rows of x[row][c]. It sums blocks of kRowsPerBlock rows, and then adds the blocks'
/// sums, for which `partial` has room: row_blocks(rows) x columns floats, unused for a single block.
inline constexpr int64_t kRowsPerBlock = 512;
inline int64_t row_blocks(int64_t rows) { return (rows + kRowsPerBlock - 1) / kRowsPerBlock; }
void sum_rows(int threads, const float* x, int64_t rows, int64_t columns, float* y, float* partial);
/// Like sum_rows(), for each of `outer` matrices [rows, columns]; `partial` has room for outer x blocks x columns floats.
void sum_middle(int threads, const float* x, int64_t outer, int64_t rows, int64_t columns, float* y, float* partial);
/// y[row] = sum of row `row`, computed by sum() for long rows.
void sum_columns(int threads, const float* x, int64_t rows, int64_t columns, float* y);
/// Like sum_middle() and sum_columns(), with the largest element instead of the sum, or NaN if an element is NaN. `y`
/// overlaps nothing.
void max_middle(int threads, const float* x, int64_t outer, int64_t rows, int64_t columns, float* y);
void max_columns(int threads, const float* x, int64_t rows, int64_t columns, float* y);

}  // namespace shoal::backends::portable
