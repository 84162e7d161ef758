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

SHOAL_VECTOR_LOOP void adam(int64_t count, const AdamConstants& constants, const float* g, const float* current, float* next,
                       float* m, float* v) {
  const AdamConstants c = constants;  // a copy: stores to floats could otherwise change it
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float first = c.beta1 * m[k] + c.one_minus_beta1 * g[k];
    const float second = c.beta2 * v[k] + c.one_minus_beta2 * (g[k] * g[k]);
    m[k] = first;
    v[k] = second;
    next[k] = current[k] - c.rate * first / (std::sqrt(second) + c.epsilon);
  }
}

SHOAL_VECTOR_LOOP void add(int64_t count, const float* x, const float* current, float* next) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = current[k] + x[k];
}

SHOAL_VECTOR_LOOP void moving_average(int64_t count, float decay, float one_minus_decay, const float* x, const float* current,
                                 float* next) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = decay * current[k] + one_minus_decay * x[k];
}

}  // namespace shoal::nn::kernels
