// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The learning rate of each step.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "shoal/base/std_function.h"

namespace shoal::nn {

/// A constant, or a function of the global step before the update (0 for the first). A value type.
class LearningRate {
 public:
  /// Raises InvalidArgument unless the number is finite and >= 0.
  LearningRate(double constant);  // NOLINT: a plain number converts to a learning rate
  /// `schedule` has to be a pure function: servers and restarts rely on equal results for equal steps. Raises
  /// InvalidArgument if empty. A result that is negative or not finite ends training (InvalidArgument, with the step).
  template <class F>
  requires std::is_invocable_r_v<double, const F&, uint64_t> LearningRate(F schedule)
      : LearningRate(Schedule{std::move(schedule)}) {}  // NOLINT: a function is a learning rate
  double at(uint64_t global_step) const { return at_(global_step); }

 private:
  struct Schedule {
    std::function<double(uint64_t)> at;
  };
  explicit LearningRate(Schedule schedule);
  std::function<double(uint64_t)> at_;
};

}  // namespace shoal::nn
