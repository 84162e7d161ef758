#pragma once
/// The loops of the update rules: leaf functions over plain pointers, one source for every target. `next` may be `current`.
#include <cstdint>

namespace shoal::nn::kernels {

// g = scale * x; g += scale * x; g *= factor: the left fold over contributors.
void fold_first(int64_t count, float scale, const float* x, float* g);
void fold_next(int64_t count, float scale, const float* x, float* g);
void multiply(int64_t count, float factor, float* g);

void sgd(int64_t count, float rate, const float* g, const float* current, float* next);
void momentum(int64_t count, float rate, float decay, const float* g, const float* current, float* next, float* slot);
void nesterov(int64_t count, float rate, float decay, const float* g, const float* current, float* next, float* slot);
void adagrad(int64_t count, float rate, float epsilon, const float* g, const float* current, float* next, float* slot);

struct AdamConstants {
  float rate;  ///< corrected for the step
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float epsilon;
};
void adam(int64_t count, const AdamConstants& constants, const float* g, const float* current, float* next, float* m,
          float* v);

void add(int64_t count, const float* x, const float* current, float* next);
void moving_average(int64_t count, float decay, float one_minus_decay, const float* x, const float* current, float* next);

}  // namespace shoal::nn::kernels
