// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The loops of the update rules, as functions on plain pointers that the compiler can vectorise. `next` may be equal to
/// `current`.
#include <cstdint>

namespace shoal::nn::kernels {

// Sum up the gradients x of several trainers, in order: fold_first() sets g = scale * x, fold_next() adds scale * x to g,
// and multiply() sets g = factor * g.
void fold_first(int64_t count, float scale, const float* x, float* g);
void fold_next(int64_t count, float scale, const float* x, float* g);
void multiply(int64_t count, float factor, float* g);

// The functions below write variables and slots. They return the bits of the largest magnitude that they wrote: if these,
// as an integer, are below kInfinityBits (shoal/base/finite.h), all written values are finite.

int32_t sgd(int64_t count, float rate, const float* g, const float* current, float* next);
int32_t momentum(int64_t count, float rate, float decay, const float* g, const float* current, float* next, float* slot);
int32_t nesterov(int64_t count, float rate, float decay, const float* g, const float* current, float* next, float* slot);
int32_t adagrad(int64_t count, float rate, float epsilon, const float* g, const float* current, float* next, float* slot);

struct AdamConstants {
  float rate;  ///< The learning rate times sqrt(1 - beta2^t) / (1 - beta1^t), Adam's bias correction.
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float epsilon;
};
int32_t adam(int64_t count, const AdamConstants& constants, const float* g, const float* current, float* next, float* m,
             float* v);

/// `keep` is 1 - rate * weight decay.
int32_t adamw(int64_t count, const AdamConstants& constants, float keep, const float* g, const float* current, float* next,
              float* m, float* v);

struct RmsPropConstants {
  float rate;
  float decay;
  float one_minus_decay;
  float momentum;
  float epsilon;
};
/// If the rule has no momentum, `step` is null. If it is not centered (RmsPropOptions::centered), `mean` is null.
int32_t rmsprop(int64_t count, const RmsPropConstants& constants, const float* g, const float* current, float* next,
                float* square, float* step, float* mean);

struct FtrlConstants {
  float inverse_rate;
  float l1;
  float twice_l2;
  float twice_shrinkage;
  float beta;
};
int32_t ftrl(int64_t count, const FtrlConstants& constants, const float* g, const float* current, float* next,
             float* accumulator, float* linear);

struct LambConstants {
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float first_correction;   ///< 1 / (1 - beta1^t).
  float second_correction;  ///< 1 / (1 - beta2^t).
  float epsilon;
  float weight_decay;
};
/// LAMB passes over a variable twice. lamb_moments() computes the moments, and adds to LambSums the squares of the
/// variable's elements and of their steps. lamb_step() then sets next = current - rate * step.
struct LambSums {
  double variable = 0;
  double step = 0;
};
int32_t lamb_moments(int64_t count, const LambConstants& constants, const float* g, const float* current, float* m,
                     float* v, LambSums& sums);
int32_t lamb_step(int64_t count, const LambConstants& constants, float rate, const float* current, float* next,
                  const float* m, const float* v);

/// Sets next = x.
int32_t assign(int64_t count, const float* x, float* next);
int32_t add(int64_t count, const float* x, const float* current, float* next);
int32_t moving_average(int64_t count, float decay, float one_minus_decay, const float* x, const float* current,
                       float* next);

}  // namespace shoal::nn::kernels
