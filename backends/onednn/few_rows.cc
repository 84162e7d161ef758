// SPDX-License-Identifier: Apache-2.0
// Compiled with contraction on (CMakeLists.txt), as panels.cc is.
#include "few_rows.h"

#include <type_traits>

#include "shoal/base/vector_loop.h"

namespace shoal::backends::onednn {
namespace {

using Vector [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
constexpr int64_t kLanes = 16;

SHOAL_ALWAYS_INLINE const Vector& load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
SHOAL_ALWAYS_INLINE void store(float* to, const Vector& value) { *reinterpret_cast<Vector*>(to) = value; }

SHOAL_ALWAYS_INLINE float sum_of(const Vector& value) {
  float lanes[kLanes];
  store(lanes, value);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

/// The products of `kOutputs` rows of w with all of x. Several sums at a time hide what an addition takes.
template <int64_t kRows, int64_t kOutputs>
SHOAL_ALWAYS_INLINE void dot_rows(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y) {
  Vector sums[kOutputs][kRows] = {};
  int64_t k = 0;
  for (; k + kLanes <= sizes.in; k += kLanes) {
#pragma GCC unroll 4
    for (int64_t o = 0; o < kOutputs; ++o) {
      const Vector weights = load(w + o * sizes.in + k);
#pragma GCC unroll 4
      for (int64_t row = 0; row < kRows; ++row) sums[o][row] += weights * load(x + row * sizes.in + k);
    }
  }
  for (int64_t o = 0; o < kOutputs; ++o) {
    for (int64_t row = 0; row < kRows; ++row) {
      float sum = sum_of(sums[o][row]);
      for (int64_t tail = k; tail < sizes.in; ++tail) sum += w[o * sizes.in + tail] * x[row * sizes.in + tail];
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

/// Adds dy times `kOutputs` rows of w to dx, or puts it there for the first ones.
template <int64_t kRows, int64_t kOutputs>
SHOAL_ALWAYS_INLINE void add_rows(const FewRows& sizes, const float* dy, const float* w, float* dx, bool accumulate) {
  int64_t j = 0;
  for (; j + kLanes <= sizes.in; j += kLanes) {
    Vector sums[kRows];
    for (int64_t row = 0; row < kRows; ++row) sums[row] = accumulate ? load(dx + row * sizes.in + j) : Vector{};
#pragma GCC unroll 8
    for (int64_t o = 0; o < kOutputs; ++o) {
      const Vector weights = load(w + o * sizes.in + j);
#pragma GCC unroll 4
      for (int64_t row = 0; row < kRows; ++row) sums[row] += weights * dy[row * sizes.out + o];
    }
    for (int64_t row = 0; row < kRows; ++row) store(dx + row * sizes.in + j, sums[row]);
  }
  for (; j < sizes.in; ++j) {
    for (int64_t row = 0; row < kRows; ++row) {
      float sum = accumulate ? dx[row * sizes.in + j] : 0.0f;
      for (int64_t o = 0; o < kOutputs; ++o) sum += w[o * sizes.in + j] * dy[row * sizes.out + o];
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
    for (; j + kLanes <= sizes.in; j += kLanes) {
      Vector sum = load(x + j) * dy[o];
#pragma GCC unroll 4
      for (int64_t row = 1; row < kRows; ++row) sum += load(x + row * sizes.in + j) * dy[row * sizes.out + o];
      store(to + j, sum);
    }
    for (; j < sizes.in; ++j) {
      float sum = x[j] * dy[o];
      for (int64_t row = 1; row < kRows; ++row) sum += x[row * sizes.in + j] * dy[row * sizes.out + o];
      to[j] = sum;
    }
  }
}

/// Calls body(the number of rows) with a number that the compiler knows.
template <class Body>
SHOAL_ALWAYS_INLINE void with_rows(int64_t rows, const Body& body) {
  switch (rows) {
    case 1: return body(std::integral_constant<int64_t, 1>());
    case 2: return body(std::integral_constant<int64_t, 2>());
    case 3: return body(std::integral_constant<int64_t, 3>());
    default: return body(std::integral_constant<int64_t, kFewRows>());
  }
}

}  // namespace

SHOAL_VECTOR_LOOP void few_rows_dense(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y,
                                      int64_t first, int64_t last) {
  with_rows(sizes.rows,
            [&](auto rows) __attribute__((always_inline)) { dense<rows()>(sizes, x, w, bias, y, first, last); });
}

SHOAL_VECTOR_LOOP void few_rows_grad_input(const FewRows& sizes, const float* dy, const float* w, float* partial,
                                           int64_t first, int64_t last) {
  with_rows(
      sizes.rows, [&](auto rows)
                      __attribute__((always_inline)) { grad_input<rows()>(sizes, dy, w, partial, first, last); });
}

SHOAL_VECTOR_LOOP void few_rows_sum(const float* partials, int64_t count, int64_t stride, int64_t size, float* sum) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Vector value = load(partials + i);
    for (int64_t k = 1; k < count; ++k) value += load(partials + k * stride + i);
    store(sum + i, value);
  }
  for (; i < size; ++i) {
    float value = partials[i];
    for (int64_t k = 1; k < count; ++k) value += partials[k * stride + i];
    sum[i] = value;
  }
}

SHOAL_VECTOR_LOOP void few_rows_grad_kernel(const FewRows& sizes, const float* dy, const float* x, float* dw, int64_t first,
                                            int64_t last) {
  with_rows(sizes.rows,
            [&](auto rows) __attribute__((always_inline)) { grad_kernel<rows()>(sizes, dy, x, dw, first, last); });
}

}  // namespace shoal::backends::onednn
