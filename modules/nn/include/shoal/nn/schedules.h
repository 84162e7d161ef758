// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Learning rates that depend on the global step. All are pure functions of it, so a restarted run gets the same rates.
/// In the formulas t is the global step before the update, from 0. All raise InvalidArgument for numbers out of range.
#include <cstdint>
#include <vector>

#include "shoal/nn/learning_rate.h"

namespace shoal::nn {

/// The same rate for every step. A plain number that is given as a learning rate means this, too.
LearningRate constant_rate(double rate);

struct StepDecayOptions {
  double initial;        ///< A finite number >= 0.
  uint64_t decay_steps;  ///< A number > 0.
  double factor = 0.1;   ///< A finite number >= 0.
};
/// initial * factor^floor(t / decay_steps).
LearningRate step_decay(StepDecayOptions options);

struct ExponentialDecayOptions {
  double initial;        ///< A finite number >= 0.
  uint64_t decay_steps;  ///< A number > 0.
  double factor;         ///< A finite number >= 0, by which the rate is multiplied over decay_steps.
};
/// initial * factor^(t / decay_steps), with a fractional exponent.
LearningRate exponential_decay(ExponentialDecayOptions options);

struct PolynomialDecayOptions {
  double initial;        ///< A finite number >= 0.
  uint64_t decay_steps;  ///< A number > 0.
  double end = 0;        ///< A finite number >= 0, which may be above `initial`.
  double power = 1;      ///< A finite number > 0. 1: a straight line.
};
/// end + (initial - end) * (1 - min(t, decay_steps) / decay_steps)^power.
LearningRate polynomial_decay(PolynomialDecayOptions options);

struct CosineDecayOptions {
  double initial;        ///< A finite number >= 0.
  uint64_t decay_steps;  ///< A number > 0.
  double end = 0;        ///< A finite number >= 0.
};
/// end + (initial - end) * (1 + cos(pi * min(t, decay_steps) / decay_steps)) / 2.
/// Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts" (ICLR 2017), one period.
LearningRate cosine_decay(CosineDecayOptions options);

/// rates[i], where i is the number of `boundaries` that are <= t: boundaries {100, 200} and rates {a, b, c} give a for
/// steps 0 to 99, b up to 199, then c. Boundaries ascend. There is one more rate than boundaries; each is finite and >= 0.
LearningRate piecewise_constant(std::vector<uint64_t> boundaries, std::vector<double> rates);

struct WarmUpOptions {
  uint64_t steps;           ///< A number > 0.
  double start_factor = 0;  ///< A number in [0, 1].
};
/// rate(t) * (start_factor + (1 - start_factor) * min(t, steps) / steps). The result grows until it equals `rate` at step
/// `steps`. If `rate` is a schedule, that also starts at step 0: `warm_up(cosine_decay({...}), {.steps = 1000})`.
/// Source: Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour" (2017), section 2.2.
LearningRate warm_up(LearningRate rate, WarmUpOptions options);

}  // namespace shoal::nn
