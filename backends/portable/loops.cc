// SPDX-License-Identifier: Apache-2.0
#include "loops.h"

#include <algorithm>

#include "threads.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

SHOAL_VECTOR_LOOP void relu_grad_range(const float* dy, const float* output, float* dx, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) dx[i] = output[i] > 0.0f ? dy[i] : 0.0f;
}

SHOAL_VECTOR_LOOP void add_range(const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) y[i] = a[i] + b[i];
}

SHOAL_VECTOR_LOOP void sub_range(const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) y[i] = a[i] - b[i];
}

SHOAL_VECTOR_LOOP void mul_range(const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) y[i] = a[i] * b[i];
}

SHOAL_VECTOR_LOOP void scale_range(const float* x, float factor, float* y, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] * factor;
}

SHOAL_VECTOR_LOOP void widen_range(const uint8_t* x, float* y, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) y[i] = float(x[i]);
}

SHOAL_VECTOR_LOOP float sum_block(const float* x, int64_t count) {
  return sum_in_lanes<64>(
      count, [x](int64_t i) __attribute__((always_inline)) { return x[i]; });
}

/// Sums each row, with 16 running sums, or with one if a row has fewer than 16 elements.
SHOAL_VECTOR_LOOP void sum_short_rows(const float* x, int64_t rows, int64_t columns, float* y) {
  constexpr int kLanes = 16;
  for (int64_t row = 0; row < rows; ++row, x += columns) {
    float lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= columns; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
    }
    float rest = 0.0f;
    for (; i < columns; ++i) rest += x[i];
    if (columns >= kLanes) {
      for (int width = kLanes / 2; width > 0; width /= 2) {
        for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
      }
      rest += lanes[0];
    }
    y[row] = rest;
  }
}

SHOAL_VECTOR_LOOP float max_row(const float* x, int64_t count) {
  constexpr int kLanes = 16;
  float best = x[0];
  int64_t i = 0;
  if (count >= kLanes) {
    float lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = x[lane];
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = larger(lanes[lane], x[i + lane]);
    }
    for (int lane = 0; lane < kLanes; ++lane) best = larger(best, lanes[lane]);
  }
  for (; i < count; ++i) best = larger(best, x[i]);
  return best;
}

SHOAL_VECTOR_LOOP void max_rows(const float* __restrict x, int64_t rows, int64_t columns, float* __restrict y) {
  for (int64_t c = 0; c < columns; ++c) y[c] = x[c];
  for (int64_t row = 1; row < rows; ++row) {
    for (int64_t c = 0; c < columns; ++c) y[c] = larger(y[c], x[row * columns + c]);
  }
}

SHOAL_VECTOR_LOOP void divide_range(const float* x, float divisor, float* y, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] / divisor;
}

SHOAL_VECTOR_LOOP void sum_rows_block(const float* __restrict x, int64_t rows, int64_t columns, float* __restrict y) {
  for (int64_t c = 0; c < columns; ++c) y[c] = 0.0f;
  int64_t row = 0;
  // With eight rows per pass, the running sums are loaded and stored an eighth as often.
  for (; row + 8 <= rows; row += 8) {
    const float* r = x + row * columns;
    for (int64_t c = 0; c < columns; ++c) {
      y[c] += ((r[c] + r[c + columns]) + (r[c + 2 * columns] + r[c + 3 * columns])) +
              ((r[c + 4 * columns] + r[c + 5 * columns]) + (r[c + 6 * columns] + r[c + 7 * columns]));
    }
  }
  for (; row < rows; ++row) {
    for (int64_t c = 0; c < columns; ++c) y[c] += x[row * columns + c];
  }
}

}  // namespace

void relu_grad(int threads, const float* dy, const float* output, float* dx, int64_t count) {
  parallel_for(threads, count, 3 * kFloatBytes * count,
               [=](int64_t begin, int64_t end) { relu_grad_range(dy, output, dx, begin, end); });
}

void add(int threads, const float* a, const float* b, float* y, int64_t count) {
  parallel_for(threads, count, 3 * kFloatBytes * count,
               [=](int64_t begin, int64_t end) { add_range(a, b, y, begin, end); });
}

void sub(int threads, const float* a, const float* b, float* y, int64_t count) {
  parallel_for(threads, count, 3 * kFloatBytes * count,
               [=](int64_t begin, int64_t end) { sub_range(a, b, y, begin, end); });
}

void mul(int threads, const float* a, const float* b, float* y, int64_t count) {
  parallel_for(threads, count, 3 * kFloatBytes * count,
               [=](int64_t begin, int64_t end) { mul_range(a, b, y, begin, end); });
}

void scale(int threads, const float* x, float factor, float* y, int64_t count) {
  parallel_for(threads, count, 2 * kFloatBytes * count,
               [=](int64_t begin, int64_t end) { scale_range(x, factor, y, begin, end); });
}

void divide(int threads, const float* x, float divisor, float* y, int64_t count) {
  parallel_for(threads, count, 2 * kFloatBytes * count,
               [=](int64_t begin, int64_t end) { divide_range(x, divisor, y, begin, end); });
}

void square(int threads, const float* x, float* y, int64_t count) { mul(threads, x, x, y, count); }

void fill(int threads, float value, float* y, int64_t count) {
  parallel_for(threads, count, kFloatBytes * count,
               [=](int64_t begin, int64_t end) { std::fill(y + begin, y + end, value); });
}

void bytes_to_floats(int threads, const uint8_t* x, float* y, int64_t count) {
  parallel_for(threads, count, 5 * count, [=](int64_t begin, int64_t end) { widen_range(x, y, begin, end); });
}

SHOAL_VECTOR_LOOP void keep(const float* x, const uint32_t* bits, uint32_t threshold, float factor, float* y,
                            int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const float kept = x[i] * factor;
    y[i] = bits[i] >= threshold ? kept : 0.0f;
  }
}

float sum(const float* x, int64_t count) {
  constexpr int64_t kBlock = 4096;
  if (count <= kBlock) return sum_block(x, count);
  // Adds the sums of two halves. The length of the first half is a multiple of kBlock.
  const int64_t half = ((count + kBlock - 1) / kBlock + 1) / 2 * kBlock;
  return sum(x, half) + sum(x + half, count - half);
}

void sum_middle(int threads, const float* x, int64_t outer, int64_t rows, int64_t columns, float* y, float* partial) {
  const int64_t blocks = row_blocks(rows);
  float* sums = blocks <= 1 ? y : partial;
  parallel_for(threads, outer * std::max<int64_t>(blocks, 1), kFloatBytes * outer * rows * columns,
               [=](int64_t begin, int64_t end) {
                 for (int64_t block = begin; block < end; ++block) {
                   const int64_t matrix = blocks <= 1 ? block : block / blocks;
                   const int64_t first = blocks <= 1 ? 0 : block % blocks * kRowsPerBlock;
                   sum_rows_block(x + (matrix * rows + first) * columns, std::min(kRowsPerBlock, rows - first), columns,
                                  sums + block * columns);
                 }
               });
  if (blocks <= 1) return;
  for (int64_t i = 0; i < outer; ++i) sum_rows_block(partial + i * blocks * columns, blocks, columns, y + i * columns);
}

void sum_rows(int threads, const float* x, int64_t rows, int64_t columns, float* y, float* partial) {
  sum_middle(threads, x, 1, rows, columns, y, partial);
}

void sum_columns(int threads, const float* x, int64_t rows, int64_t columns, float* y) {
  constexpr int64_t kShort = 512;
  parallel_for(threads, rows, kFloatBytes * rows * columns, [=](int64_t begin, int64_t end) {
    if (columns <= kShort) return sum_short_rows(x + begin * columns, end - begin, columns, y + begin);
    for (int64_t row = begin; row < end; ++row) y[row] = sum(x + row * columns, columns);
  });
}

void max_middle(int threads, const float* x, int64_t outer, int64_t rows, int64_t columns, float* y) {
  parallel_for(threads, outer, kFloatBytes * outer * rows * columns, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) max_rows(x + i * rows * columns, rows, columns, y + i * columns);
  });
}

void max_columns(int threads, const float* x, int64_t rows, int64_t columns, float* y) {
  parallel_for(threads, rows, kFloatBytes * rows * columns, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) y[row] = max_row(x + row * columns, columns);
  });
}

}  // namespace shoal::backends::portable
