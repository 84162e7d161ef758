// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The loops of few_rows.h. The file that includes this header determines the instruction set.
#include "few_rows.h"
#include "fused.h"

namespace shoal::backends::portable {
namespace {

/// A sum is computed as sixteen partial sums (lanes), whatever the size of a vector register. `Lanes` has all sixteen, in
/// kParts registers.
constexpr int64_t kSums = 16, kParts = kSums / kLanes;
struct Lanes {
  Vector part[kParts];
};
SHOAL_ALWAYS_INLINE Lanes load_lanes(const float* from) {
  Lanes lanes;
#pragma GCC unroll 4
  for (int64_t i = 0; i < kParts; ++i) lanes.part[i] = load(from + i * kLanes);
  return lanes;
}
SHOAL_ALWAYS_INLINE void store(float* to, const Lanes& lanes) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < kParts; ++i) store(to + i * kLanes, lanes.part[i]);
}
SHOAL_ALWAYS_INLINE Lanes spread_lanes(float value) {
  Lanes lanes;
#pragma GCC unroll 4
  for (int64_t i = 0; i < kParts; ++i) lanes.part[i] = spread(value);
  return lanes;
}
SHOAL_ALWAYS_INLINE Lanes times(const Lanes& lanes, float factor) {
  Lanes products;
#pragma GCC unroll 4
  for (int64_t i = 0; i < kParts; ++i) products.part[i] = lanes.part[i] * factor;
  return products;
}
/// sum += a b.
SHOAL_ALWAYS_INLINE void add_product(const Lanes& a, const Lanes& b, Lanes& sum) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < kParts; ++i) sum.part[i] = fused(a.part[i], b.part[i], sum.part[i]);
}

SHOAL_ALWAYS_INLINE float sum_of(const Lanes& value) {
  float lanes[kSums];
  store(lanes, value);
  for (int64_t half = kSums / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

/// Computes sum_of() for four values at a time. The lanes of each value are added in the same order as there: lanes 8
/// apart first, then those 4, 2 and 1 apart.
SHOAL_ALWAYS_INLINE void four_sums_of(const Lanes* values, float* sums) {
  float lanes[4][kSums];
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) store(lanes[i], values[i]);
  Eight a, b, c, d;
  fold(lanes[0], a), fold(lanes[1], b), fold(lanes[2], c), fold(lanes[3], d);
  const Eight ab =
      __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  const Eight cd =
      __builtin_shufflevector(c, d, 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(c, d, 4, 5, 6, 7, 12, 13, 14, 15);
  const Eight acbd = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                     __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  *reinterpret_cast<Quarter*>(sums) =
      __builtin_shufflevector(acbd, acbd, 0, 4, 2, 6) + __builtin_shufflevector(acbd, acbd, 1, 5, 3, 7);
}

/// Computes the products of `kOutputs` rows of w with all rows of x. Computes several sums at a time, to hide the latency
/// of additions.
template <int64_t kRows, int64_t kOutputs>
SHOAL_ALWAYS_INLINE void dot_rows(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y) {
  Lanes sums[kOutputs][kRows] = {};
  int64_t k = 0;
  for (; k + kSums <= sizes.in; k += kSums) {
#pragma GCC unroll 4
    for (int64_t o = 0; o < kOutputs; ++o) {
      const Lanes weights = load_lanes(w + o * sizes.in + k);
#pragma GCC unroll 4
      for (int64_t row = 0; row < kRows; ++row) add_product(weights, load_lanes(x + row * sizes.in + k), sums[o][row]);
    }
  }
  float results[kOutputs][kRows];
  if constexpr (kOutputs * kRows == 4) {
    four_sums_of(&sums[0][0], &results[0][0]);
  } else {
    for (int64_t o = 0; o < kOutputs; ++o) {
      for (int64_t row = 0; row < kRows; ++row) results[o][row] = sum_of(sums[o][row]);
    }
  }
  for (int64_t o = 0; o < kOutputs; ++o) {
    for (int64_t row = 0; row < kRows; ++row) {
      float sum = results[o][row];
      for (int64_t tail = k; tail < sizes.in; ++tail) sum = fused(w[o * sizes.in + tail], x[row * sizes.in + tail], sum);
      y[row * sizes.out + o] = bias ? sum + bias[o] : sum;
    }
  }
}

template <int64_t kRows>
SHOAL_ALWAYS_INLINE void dense(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y,
                               int64_t first, int64_t last) {
  constexpr int64_t kOutputs = kRows == 1 ? 4 : (kRows == 2 ? 2 : 1);
  int64_t o = first;
  for (; o + kOutputs <= last; o += kOutputs) {
    dot_rows<kRows, kOutputs>(sizes, x, w + o * sizes.in, bias ? bias + o : nullptr, y + o);
  }
  for (; o < last; ++o) dot_rows<kRows, 1>(sizes, x, w + o * sizes.in, bias ? bias + o : nullptr, y + o);
}

/// Adds dy times `kOutputs` rows of w to dx; without `accumulate` it overwrites dx.
template <int64_t kRows, int64_t kOutputs>
SHOAL_ALWAYS_INLINE void add_rows(const FewRows& sizes, const float* dy, const float* w, float* dx, bool accumulate) {
  int64_t j = 0;
  for (; j + kSums <= sizes.in; j += kSums) {
    Lanes sums[kRows];
    for (int64_t row = 0; row < kRows; ++row) sums[row] = accumulate ? load_lanes(dx + row * sizes.in + j) : Lanes{};
#pragma GCC unroll 8
    for (int64_t o = 0; o < kOutputs; ++o) {
      const Lanes weights = load_lanes(w + o * sizes.in + j);
#pragma GCC unroll 4
      for (int64_t row = 0; row < kRows; ++row) add_product(weights, spread_lanes(dy[row * sizes.out + o]), sums[row]);
    }
    for (int64_t row = 0; row < kRows; ++row) store(dx + row * sizes.in + j, sums[row]);
  }
  for (; j < sizes.in; ++j) {
    for (int64_t row = 0; row < kRows; ++row) {
      float sum = accumulate ? dx[row * sizes.in + j] : 0.0f;
      for (int64_t o = 0; o < kOutputs; ++o) sum = fused(w[o * sizes.in + j], dy[row * sizes.out + o], sum);
      dx[row * sizes.in + j] = sum;
    }
  }
}

template <int64_t kRows>
SHOAL_ALWAYS_INLINE void grad_input(const FewRows& sizes, const float* dy, const float* w, float* dx, int64_t first,
                                    int64_t last) {
  constexpr int64_t kOutputs = 8;
  int64_t o = first;
  for (; o + kOutputs <= last; o += kOutputs) {
    add_rows<kRows, kOutputs>(sizes, dy + o, w + o * sizes.in, dx, o > first);
  }
  for (; o < last; ++o) add_rows<kRows, 1>(sizes, dy + o, w + o * sizes.in, dx, o > first);
}

template <int64_t kRows>
SHOAL_ALWAYS_INLINE void grad_kernel(const FewRows& sizes, const float* dy, const float* x, float* dw, int64_t first,
                                     int64_t last) {
  for (int64_t o = first; o < last; ++o) {
    float* const to = dw + (o - first) * sizes.in;
    int64_t j = 0;
    for (; j + kSums <= sizes.in; j += kSums) {
      Lanes sum = times(load_lanes(x + j), dy[o]);
#pragma GCC unroll 4
      for (int64_t row = 1; row < kRows; ++row)
        add_product(load_lanes(x + row * sizes.in + j), spread_lanes(dy[row * sizes.out + o]), sum);
      store(to + j, sum);
    }
    for (; j < sizes.in; ++j) {
      float sum = x[j] * dy[o];
      for (int64_t row = 1; row < kRows; ++row) sum = fused(x[row * sizes.in + j], dy[row * sizes.out + o], sum);
      to[j] = sum;
    }
  }
}

void add_products(const float* a, const float* b, float* sum, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(sum + i, fused(load(a + i), load(b + i), load(sum + i)));
  for (; i < count; ++i) sum[i] = fused(a[i], b[i], sum[i]);
}

void run_few_rows_dense(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y, int64_t first,
                        int64_t last) {
  with_count<kFewRows>(
      sizes.rows, [&](auto rows)
                      __attribute__((always_inline)) { dense<decltype(rows)::value>(sizes, x, w, bias, y, first, last); });
}

void run_few_rows_grad_input(const FewRows& sizes, const float* dy, const float* w, float* partial, int64_t first,
                             int64_t last) {
  with_count<kFewRows>(
      sizes.rows, [&](auto rows) __attribute__((always_inline)) {
        grad_input<decltype(rows)::value>(sizes, dy, w, partial, first, last);
      });
}

void run_few_rows_grad_kernel(const FewRows& sizes, const float* dy, const float* x, float* dw, int64_t first,
                              int64_t last) {
  with_count<kFewRows>(
      sizes.rows, [&](auto rows) __attribute__((always_inline)) {
        grad_kernel<decltype(rows)::value>(sizes, dy, x, dw, first, last);
      });
}

}  // namespace
}  // namespace shoal::backends::portable
