// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/schedules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>

#include "shoal/base/double_math.h"
#include "shoal/base/error.h"

namespace shoal::nn {
namespace {

void require(bool good, const std::string& schedule, const std::string& what, double value, const std::string& range) {
  if (!good) raise(invalid_argument(schedule + ": " + what + " is " + std::to_string(value) + ", expected " + range));
}

void require_rate(const std::string& schedule, const std::string& what, double value) {
  require(std::isfinite(value) && value >= 0, schedule, what, value, "a finite number >= 0");
}

void require_steps(const std::string& schedule, const std::string& what, uint64_t value) {
  require(value > 0, schedule, what, double(value), "at least 1");
}

/// The fraction of `steps` that has passed, in [0, 1].
double progress(uint64_t step, uint64_t steps) { return double(std::min(step, steps)) / double(steps); }

}  // namespace

LearningRate constant_rate(double rate) { return rate; }

LearningRate step_decay(StepDecayOptions options) {
  require_rate("step_decay", "initial", options.initial);
  require_rate("step_decay", "factor", options.factor);
  require_steps("step_decay", "decay_steps", options.decay_steps);
  return
      [options](uint64_t step) { return options.initial * double_pow(options.factor, double(step / options.decay_steps)); };
}

LearningRate exponential_decay(ExponentialDecayOptions options) {
  require_rate("exponential_decay", "initial", options.initial);
  require_rate("exponential_decay", "factor", options.factor);
  require_steps("exponential_decay", "decay_steps", options.decay_steps);
  return [options](uint64_t step) {
    return options.initial * double_pow(options.factor, double(step) / double(options.decay_steps));
  };
}

LearningRate polynomial_decay(PolynomialDecayOptions options) {
  require_rate("polynomial_decay", "initial", options.initial);
  require_rate("polynomial_decay", "end", options.end);
  require(std::isfinite(options.power) && options.power > 0, "polynomial_decay", "power", options.power,
          "a finite number above 0");
  require_steps("polynomial_decay", "decay_steps", options.decay_steps);
  return [options](uint64_t step) {
    return options.end +
           (options.initial - options.end) * double_pow(1 - progress(step, options.decay_steps), options.power);
  };
}

LearningRate cosine_decay(CosineDecayOptions options) {
  require_rate("cosine_decay", "initial", options.initial);
  require_rate("cosine_decay", "end", options.end);
  require_steps("cosine_decay", "decay_steps", options.decay_steps);
  return [options](uint64_t step) {
    const double angle = std::numbers::pi * progress(step, options.decay_steps);
    return options.end + (options.initial - options.end) * (1 + double_cos(angle)) / 2;
  };
}

LearningRate piecewise_constant(std::vector<uint64_t> boundaries, std::vector<double> rates) {
  if (rates.size() != boundaries.size() + 1) {
    raise(invalid_argument("piecewise_constant: " + std::to_string(boundaries.size()) + " boundaries need " +
                           std::to_string(boundaries.size() + 1) + " rates, got " + std::to_string(rates.size())));
  }
  if (std::ranges::adjacent_find(boundaries, std::greater_equal<>()) != boundaries.end()) {
    raise(invalid_argument("piecewise_constant: boundaries must ascend"));
  }
  for (const double rate : rates) require_rate("piecewise_constant", "a rate", rate);
  return [boundaries = std::move(boundaries), rates = std::move(rates)](uint64_t step) {
    return rates[size_t(std::ranges::upper_bound(boundaries, step) - boundaries.begin())];
  };
}

LearningRate warm_up(LearningRate rate, WarmUpOptions options) {
  require_steps("warm_up", "steps", options.steps);
  require(options.start_factor >= 0 && options.start_factor <= 1, "warm_up", "start_factor", options.start_factor,
          "a number in [0, 1]");
  return [rate = std::move(rate), options](uint64_t step) {
    return rate.at(step) * (options.start_factor + (1 - options.start_factor) * progress(step, options.steps));
  };
}

}  // namespace shoal::nn
