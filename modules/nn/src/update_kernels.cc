// SPDX-License-Identifier: Apache-2.0
#include "update_kernels.h"

#include <cmath>

#include "shoal/base/finite.h"
#include "shoal/base/vector_loop.h"

// In all functions below, `next` may be the same array as `current`. The elements are still independent, because iteration
// k uses only element k of every array.
namespace shoal::nn::kernels {

SHOAL_VECTOR_LOOP void fold_first(int64_t count, float scale, const float* x, float* g) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) g[k] = scale * x[k];
}

SHOAL_VECTOR_LOOP void fold_next(int64_t count, float scale, const float* x, float* g) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) g[k] = g[k] + scale * x[k];
}

SHOAL_VECTOR_LOOP void multiply(int64_t count, float factor, float* g) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) g[k] = factor * g[k];
}

namespace {

/// The larger of `so_far` and the magnitude of `written`, as bits (shoal/base/finite.h).
SHOAL_ALWAYS_INLINE int32_t largest_of(int32_t so_far, float written) {
  const int32_t bits = magnitude_bits(written);
  return bits > so_far ? bits : so_far;
}

/// The largest of `so_far` and the magnitudes of both values, as bits. Compares the two values with each other first. So
/// when a loop passes each result to the next call as `so_far`, only one comparison per iteration has to wait for it.
SHOAL_ALWAYS_INLINE int32_t largest_of(int32_t so_far, float written, float also) {
  const int32_t bits = magnitude_bits(written);
  const int32_t larger = largest_of(bits, also);
  return larger > so_far ? larger : so_far;
}

}  // namespace

SHOAL_VECTOR_LOOP int32_t sgd(int64_t count, float rate, const float* g, const float* current, float* next) {
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float value = current[k] - rate * g[k];
    next[k] = value;
    largest = largest_of(largest, value);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t momentum(int64_t count, float rate, float decay, const float* g, const float* current,
                                   float* next, float* slot) {
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float accumulated = decay * slot[k] + g[k];
    slot[k] = accumulated;
    const float value = current[k] - rate * accumulated;
    next[k] = value;
    largest = largest_of(largest, accumulated, value);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t nesterov(int64_t count, float rate, float decay, const float* g, const float* current,
                                   float* next, float* slot) {
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float accumulated = decay * slot[k] + g[k];
    slot[k] = accumulated;
    const float value = current[k] - rate * (g[k] + decay * accumulated);
    next[k] = value;
    largest = largest_of(largest, accumulated, value);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t adagrad(int64_t count, float rate, float epsilon, const float* g, const float* current,
                                  float* next, float* slot) {
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float sum = slot[k] + g[k] * g[k];
    slot[k] = sum;
    const float value = current[k] - rate * g[k] / (std::sqrt(sum) + epsilon);
    next[k] = value;
    largest = largest_of(largest, sum, value);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t adam(int64_t count, const AdamConstants& constants, const float* g, const float* current,
                               float* next, float* m, float* v) {
  const AdamConstants c = constants;  // A copy: the compiler would assume that stores to floats change `constants`.
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float first = c.beta1 * m[k] + c.one_minus_beta1 * g[k];
    const float second = c.beta2 * v[k] + c.one_minus_beta2 * (g[k] * g[k]);
    m[k] = first;
    v[k] = second;
    const float value = current[k] - c.rate * first / (std::sqrt(second) + c.epsilon);
    next[k] = value;
    // `first` need not be compared: if it is NaN or infinite, `second` or `value` is so, too.
    largest = largest_of(largest, second, value);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t adamw(int64_t count, const AdamConstants& constants, float keep, const float* g,
                                const float* current, float* next, float* m, float* v) {
  const AdamConstants c = constants;
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float first = c.beta1 * m[k] + c.one_minus_beta1 * g[k];
    const float second = c.beta2 * v[k] + c.one_minus_beta2 * (g[k] * g[k]);
    m[k] = first;
    v[k] = second;
    const float value = keep * current[k] - c.rate * first / (std::sqrt(second) + c.epsilon);
    next[k] = value;
    // `first` need not be compared: if it is NaN or infinite, `second` or `value` is so, too.
    largest = largest_of(largest, second, value);
  }
  return largest;
}

namespace {

/// One source for four variants of RMSProp. It is inlined, so it is compiled for the instruction set of its caller.
template <bool kMomentum, bool kCentered>
SHOAL_ALWAYS_INLINE int32_t rmsprop_loop(int64_t count, const RmsPropConstants& constants, const float* g,
                                         const float* current, float* next, float* square, float* step, float* mean) {
  const RmsPropConstants c = constants;
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float squares = c.decay * square[k] + c.one_minus_decay * (g[k] * g[k]);
    square[k] = squares;
    largest = largest_of(largest, squares);
    float variance = squares;
    if constexpr (kCentered) {
      const float average = c.decay * mean[k] + c.one_minus_decay * g[k];
      mean[k] = average;
      largest = largest_of(largest, average);
      variance = squares - average * average;
      variance = variance < 0.0f ? 0.0f : variance;  // Rounding may make the variance negative. NaN stays.
    }
    float change = g[k] / (std::sqrt(variance) + c.epsilon);
    if constexpr (kMomentum) {
      change = c.momentum * step[k] + change;
      step[k] = change;
      largest = largest_of(largest, change);
    }
    const float value = current[k] - c.rate * change;
    next[k] = value;
    largest = largest_of(largest, value);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t rmsprop_plain(int64_t count, const RmsPropConstants& constants, const float* g,
                                        const float* current, float* next, float* square) {
  return rmsprop_loop<false, false>(count, constants, g, current, next, square, nullptr, nullptr);
}

SHOAL_VECTOR_LOOP int32_t rmsprop_momentum(int64_t count, const RmsPropConstants& constants, const float* g,
                                           const float* current, float* next, float* square, float* step) {
  return rmsprop_loop<true, false>(count, constants, g, current, next, square, step, nullptr);
}

SHOAL_VECTOR_LOOP int32_t rmsprop_centered(int64_t count, const RmsPropConstants& constants, const float* g,
                                           const float* current, float* next, float* square, float* mean) {
  return rmsprop_loop<false, true>(count, constants, g, current, next, square, nullptr, mean);
}

SHOAL_VECTOR_LOOP int32_t rmsprop_both(int64_t count, const RmsPropConstants& constants, const float* g,
                                       const float* current, float* next, float* square, float* step, float* mean) {
  return rmsprop_loop<true, true>(count, constants, g, current, next, square, step, mean);
}

}  // namespace

int32_t rmsprop(int64_t count, const RmsPropConstants& constants, const float* g, const float* current, float* next,
                float* square, float* step, float* mean) {
  if (step && mean) return rmsprop_both(count, constants, g, current, next, square, step, mean);
  if (step) return rmsprop_momentum(count, constants, g, current, next, square, step);
  if (mean) return rmsprop_centered(count, constants, g, current, next, square, mean);
  return rmsprop_plain(count, constants, g, current, next, square);
}

SHOAL_VECTOR_LOOP int32_t ftrl(int64_t count, const FtrlConstants& constants, const float* g, const float* current,
                               float* next, float* accumulator, float* linear) {
  const FtrlConstants c = constants;
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float before = accumulator[k];
    const float sum = before + g[k] * g[k];
    const float root = std::sqrt(sum);
    const float sigma = (root - std::sqrt(before)) * c.inverse_rate;
    const float z = linear[k] + ((g[k] + c.twice_shrinkage * current[k]) - sigma * current[k]);
    accumulator[k] = sum;
    linear[k] = z;
    const float quadratic = (root + c.beta) * c.inverse_rate + c.twice_l2;
    const float value = (std::copysign(c.l1, z) - z) / quadratic;
    const float written = std::abs(z) <= c.l1 ? 0.0f : value;  // A NaN in z gives NaN, not 0.
    next[k] = written;
    largest = largest_of(largest_of(largest_of(largest, sum), z), written);
  }
  return largest;
}

namespace {

SHOAL_ALWAYS_INLINE float lamb_direction(const LambConstants& c, float m, float v, float w) {
  return m * c.first_correction / (std::sqrt(v * c.second_correction) + c.epsilon) + c.weight_decay * w;
}

}  // namespace

SHOAL_VECTOR_LOOP int32_t lamb_moments(int64_t count, const LambConstants& constants, const float* g, const float* current,
                                       float* m, float* v, LambSums& sums) {
  // Sixteen partial sums, one for each k modulo 16: a fixed order of additions, so every instruction set gives equal bits.
  constexpr int64_t kLanes = 16;
  const LambConstants c = constants;
  double variable[kLanes] = {}, step[kLanes] = {};
  int32_t magnitudes[kLanes] = {};
  for (int64_t begin = 0; begin < count; begin += kLanes) {
    const int64_t lanes = count - begin < kLanes ? count - begin : kLanes;
    SHOAL_INDEPENDENT
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t k = begin + lane;
      const float first = c.beta1 * m[k] + c.one_minus_beta1 * g[k];
      const float second = c.beta2 * v[k] + c.one_minus_beta2 * (g[k] * g[k]);
      m[k] = first;
      v[k] = second;
      magnitudes[lane] = largest_of(largest_of(magnitudes[lane], first), second);
      const double w = double(current[k]), direction = double(lamb_direction(c, first, second, current[k]));
      variable[lane] += w * w;
      step[lane] += direction * direction;
    }
  }
  int32_t largest = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    sums.variable += variable[lane];
    sums.step += step[lane];
    largest = magnitudes[lane] > largest ? magnitudes[lane] : largest;
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t lamb_step(int64_t count, const LambConstants& constants, float rate, const float* current,
                                    float* next, const float* m, const float* v) {
  const LambConstants c = constants;
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float value = current[k] - rate * lamb_direction(c, m[k], v[k], current[k]);
    next[k] = value;
    largest = largest_of(largest, value);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t assign(int64_t count, const float* x, float* next) {
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    next[k] = x[k];
    largest = largest_of(largest, x[k]);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t add(int64_t count, const float* x, const float* current, float* next) {
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float value = current[k] + x[k];
    next[k] = value;
    largest = largest_of(largest, value);
  }
  return largest;
}

SHOAL_VECTOR_LOOP int32_t moving_average(int64_t count, float decay, float one_minus_decay, const float* x,
                                         const float* current, float* next) {
  int32_t largest = 0;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float value = decay * current[k] + one_minus_decay * x[k];
    next[k] = value;
    largest = largest_of(largest, value);
  }
  return largest;
}

}  // namespace shoal::nn::kernels
