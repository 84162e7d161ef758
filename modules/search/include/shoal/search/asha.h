// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Asynchronous successive halving (ASHA), the variant that stops trials: a trial continues as long as its value is among
/// the best of all trials that have reached the same rung. A rung is a number of steps at which trials are compared.
/// Source: Li, Jamieson, Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht, Talwalkar, "A system for massively parallel
/// hyperparameter tuning" (MLSys 2020). Section 3.3 there, and Ray Tune's AsyncHyperBand, stop trials instead of promoting
/// them.
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/search/goal.h"

namespace shoal::tuning {

struct AshaOptions {
  int64_t min_steps = 0;  ///< Steps of the first rung, 1 or more.
  int64_t max_steps = 0;  ///< Steps of a complete trial, which ASHA did not end; more than min_steps.
  int64_t eta =
      3;  ///< 2 or more. One in `eta` trials goes on beyond a rung. A rung has `eta` times the steps of the rung before it.
  Goal goal = Goal::kMin;
};

/// Returns a default for min_steps, with which there are at most three rungs: max_steps / eta^3, rounded up.
int64_t default_min_steps(int64_t max_steps, int64_t eta);

/// Decides which trials continue. The decisions depend only on the sequence of observations.
class Asha {
 public:
  /// Refuses options outside their ranges with InvalidArgument.
  static Result<Asha> create(const AshaOptions& options);

  struct Observation {
    int64_t rung = 0;
    bool goes_on = true;
  };
  /// Records the value of `trial` at `step`. If the trial now reaches a rung for the first time, returns this rung
  /// (the highest one, if there are several) and whether the trial continues. Returns nothing if it reaches no new rung, or
  /// if `step` is max_steps or more, where the trial is complete. A trial continues if its value is among the best
  /// 1/eta (at least one) of all values recorded at the rung, its own included. Equal values rank equally. A trial with NaN
  /// never continues.
  std::optional<Observation> observe(int64_t trial, int64_t step, double value);
  /// Steps of the rungs, ascending: min_steps * eta^k, all below max_steps.
  const std::vector<int64_t>& rungs() const { return rungs_; }

 private:
  Asha(const AshaOptions& options, std::vector<int64_t> rungs);

  AshaOptions options_;
  std::vector<int64_t> rungs_;
  std::vector<std::vector<double>> values_;  // The values that trials recorded, by rung.
  std::map<int64_t, int64_t> highest_;       // The highest rung of each trial.
};

}  // namespace shoal::tuning
