#include "update_kernels.h"

#include <cmath>

#include "shoal/base/vector_loop.h"

// Elements are independent even where `next` is `current`: iteration k touches only element k of every array.
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

SHOAL_VECTOR_LOOP void sgd(int64_t count, float rate, const float* g, const float* current, float* next) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = current[k] - rate * g[k];
}

SHOAL_VECTOR_LOOP void momentum(int64_t count, float rate, float decay, const float* g, const float* current, float* next,
                                float* slot) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float accumulated = decay * slot[k] + g[k];
    slot[k] = accumulated;
    next[k] = current[k] - rate * accumulated;
  }
}

SHOAL_VECTOR_LOOP void nesterov(int64_t count, float rate, float decay, const float* g, const float* current, float* next,
                                float* slot) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float accumulated = decay * slot[k] + g[k];
    slot[k] = accumulated;
    next[k] = current[k] - rate * (g[k] + decay * accumulated);
  }
}

SHOAL_VECTOR_LOOP void adagrad(int64_t count, float rate, float epsilon, const float* g, const float* current, float* next,
                               float* slot) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float sum = slot[k] + g[k] * g[k];
    slot[k] = sum;
    next[k] = current[k] - rate * g[k] / (std::sqrt(sum) + epsilon);
  }
}

SHOAL_VECTOR_LOOP void adam(int64_t count, const AdamConstants& constants, const float* g, const float* current,
                            float* next, float* m, float* v) {
  const AdamConstants c = constants;  // Without a copy, stores to floats could change it.
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float first = c.beta1 * m[k] + c.one_minus_beta1 * g[k];
    const float second = c.beta2 * v[k] + c.one_minus_beta2 * (g[k] * g[k]);
    m[k] = first;
    v[k] = second;
    next[k] = current[k] - c.rate * first / (std::sqrt(second) + c.epsilon);
  }
}

SHOAL_VECTOR_LOOP void adamw(int64_t count, const AdamConstants& constants, float keep, const float* g,
                             const float* current, float* next, float* m, float* v) {
  const AdamConstants c = constants;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float first = c.beta1 * m[k] + c.one_minus_beta1 * g[k];
    const float second = c.beta2 * v[k] + c.one_minus_beta2 * (g[k] * g[k]);
    m[k] = first;
    v[k] = second;
    next[k] = keep * current[k] - c.rate * first / (std::sqrt(second) + c.epsilon);
  }
}

namespace {

/// One source for the four variants; it becomes part of the caller, so of the caller's instruction set.
template <bool kMomentum, bool kCentered>
SHOAL_ALWAYS_INLINE void rmsprop_loop(int64_t count, const RmsPropConstants& constants, const float* g,
                                      const float* current, float* next, float* square, float* step, float* mean) {
  const RmsPropConstants c = constants;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float squares = c.decay * square[k] + c.one_minus_decay * (g[k] * g[k]);
    square[k] = squares;
    float variance = squares;
    if constexpr (kCentered) {
      const float average = c.decay * mean[k] + c.one_minus_decay * g[k];
      mean[k] = average;
      variance = squares - average * average;
      variance = variance < 0.0f ? 0.0f : variance;  // Rounding can take it below 0; NaN stays.
    }
    float change = g[k] / (std::sqrt(variance) + c.epsilon);
    if constexpr (kMomentum) {
      change = c.momentum * step[k] + change;
      step[k] = change;
    }
    next[k] = current[k] - c.rate * change;
  }
}

SHOAL_VECTOR_LOOP void rmsprop_plain(int64_t count, const RmsPropConstants& constants, const float* g, const float* current,
                                     float* next, float* square) {
  rmsprop_loop<false, false>(count, constants, g, current, next, square, nullptr, nullptr);
}

SHOAL_VECTOR_LOOP void rmsprop_momentum(int64_t count, const RmsPropConstants& constants, const float* g,
                                        const float* current, float* next, float* square, float* step) {
  rmsprop_loop<true, false>(count, constants, g, current, next, square, step, nullptr);
}

SHOAL_VECTOR_LOOP void rmsprop_centered(int64_t count, const RmsPropConstants& constants, const float* g,
                                        const float* current, float* next, float* square, float* mean) {
  rmsprop_loop<false, true>(count, constants, g, current, next, square, nullptr, mean);
}

SHOAL_VECTOR_LOOP void rmsprop_both(int64_t count, const RmsPropConstants& constants, const float* g, const float* current,
                                    float* next, float* square, float* step, float* mean) {
  rmsprop_loop<true, true>(count, constants, g, current, next, square, step, mean);
}

}  // namespace

void rmsprop(int64_t count, const RmsPropConstants& constants, const float* g, const float* current, float* next,
             float* square, float* step, float* mean) {
  if (step && mean) return rmsprop_both(count, constants, g, current, next, square, step, mean);
  if (step) return rmsprop_momentum(count, constants, g, current, next, square, step);
  if (mean) return rmsprop_centered(count, constants, g, current, next, square, mean);
  return rmsprop_plain(count, constants, g, current, next, square);
}

SHOAL_VECTOR_LOOP void ftrl(int64_t count, const FtrlConstants& constants, const float* g, const float* current,
                            float* next, float* accumulator, float* linear) {
  const FtrlConstants c = constants;
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
    next[k] = std::abs(z) <= c.l1 ? 0.0f : value;  // NaN is no zero.
  }
}

namespace {

SHOAL_ALWAYS_INLINE float lamb_direction(const LambConstants& c, float m, float v, float w) {
  return m * c.first_correction / (std::sqrt(v * c.second_correction) + c.epsilon) + c.weight_decay * w;
}

}  // namespace

SHOAL_VECTOR_LOOP void lamb_moments(int64_t count, const LambConstants& constants, const float* g, const float* current,
                                    float* m, float* v, LambSums& sums) {
  constexpr int64_t kLanes = 16;  // Sums are in a written order: the same bits for every instruction set.
  const LambConstants c = constants;
  double variable[kLanes] = {}, step[kLanes] = {};
  for (int64_t begin = 0; begin < count; begin += kLanes) {
    const int64_t lanes = count - begin < kLanes ? count - begin : kLanes;
    SHOAL_INDEPENDENT
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t k = begin + lane;
      const float first = c.beta1 * m[k] + c.one_minus_beta1 * g[k];
      const float second = c.beta2 * v[k] + c.one_minus_beta2 * (g[k] * g[k]);
      m[k] = first;
      v[k] = second;
      const double w = double(current[k]), direction = double(lamb_direction(c, first, second, current[k]));
      variable[lane] += w * w;
      step[lane] += direction * direction;
    }
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    sums.variable += variable[lane];
    sums.step += step[lane];
  }
}

SHOAL_VECTOR_LOOP void lamb_step(int64_t count, const LambConstants& constants, float rate, const float* current,
                                 float* next, const float* m, const float* v) {
  const LambConstants c = constants;
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = current[k] - rate * lamb_direction(c, m[k], v[k], current[k]);
}

SHOAL_VECTOR_LOOP void add(int64_t count, const float* x, const float* current, float* next) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = current[k] + x[k];
}

SHOAL_VECTOR_LOOP void moving_average(int64_t count, float decay, float one_minus_decay, const float* x,
                                      const float* current, float* next) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = decay * current[k] + one_minus_decay * x[k];
}

}  // namespace shoal::nn::kernels
