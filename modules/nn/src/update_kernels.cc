#include "update_kernels.h"

#include <cmath>
#include <cstdlib>  // defines __GLIBC__ where there is one

// One compilation per instruction set, chosen when the program starts; 1.3 to 1.5 times the plain build on x86-64. Needs
// ifunc, so glibc only; resolvers run before the sanitizers' own start-up, so not under those. Elsewhere the target's own
// vectors (or scalars) do. Bits are equal in all of them: no contraction, and IEEE division and square root.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHOAL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SHOAL_SANITIZED 1
#endif
#endif
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(SHOAL_SANITIZED)
#if defined(__clang__)
#define SHOAL_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SHOAL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#else
#define SHOAL_CLONES
#endif

// Elements are independent even where `next` is `current`: iteration k touches only element k of every array.
#if defined(__clang__)
#define SHOAL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SHOAL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace shoal::nn::kernels {

SHOAL_CLONES void fold_first(int64_t count, float scale, const float* x, float* g) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) g[k] = scale * x[k];
}

SHOAL_CLONES void fold_next(int64_t count, float scale, const float* x, float* g) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) g[k] = g[k] + scale * x[k];
}

SHOAL_CLONES void multiply(int64_t count, float factor, float* g) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) g[k] = factor * g[k];
}

SHOAL_CLONES void sgd(int64_t count, float rate, const float* g, const float* current, float* next) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = current[k] - rate * g[k];
}

SHOAL_CLONES void momentum(int64_t count, float rate, float decay, const float* g, const float* current, float* next,
                           float* slot) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float accumulated = decay * slot[k] + g[k];
    slot[k] = accumulated;
    next[k] = current[k] - rate * accumulated;
  }
}

SHOAL_CLONES void nesterov(int64_t count, float rate, float decay, const float* g, const float* current, float* next,
                           float* slot) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float accumulated = decay * slot[k] + g[k];
    slot[k] = accumulated;
    next[k] = current[k] - rate * (g[k] + decay * accumulated);
  }
}

SHOAL_CLONES void adagrad(int64_t count, float rate, float epsilon, const float* g, const float* current, float* next,
                          float* slot) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) {
    const float sum = slot[k] + g[k] * g[k];
    slot[k] = sum;
    next[k] = current[k] - rate * g[k] / (std::sqrt(sum) + epsilon);
  }
}

SHOAL_CLONES void adam(int64_t count, const AdamConstants& constants, const float* g, const float* current, float* next,
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

SHOAL_CLONES void add(int64_t count, const float* x, const float* current, float* next) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = current[k] + x[k];
}

SHOAL_CLONES void moving_average(int64_t count, float decay, float one_minus_decay, const float* x, const float* current,
                                 float* next) {
  SHOAL_INDEPENDENT
  for (int64_t k = 0; k < count; ++k) next[k] = decay * current[k] + one_minus_decay * x[k];
}

}  // namespace shoal::nn::kernels
