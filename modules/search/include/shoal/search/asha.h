// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Asynchronous successive halving, of the type that stops trials: a trial goes on for as long as it is among the best of those that
/// have come as far.
/// Source: Li, Jamieson, Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht, Talwalkar, "A system for massively parallel hyperparameter
/// tuning" (MLSys 2020); stopping in the place of promotion: section 3.3 there, and Ray Tune's AsyncHyperBand.
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::tuning {

enum class Goal : uint8_t { kMin, kMax };

/// Whether the value `a` is better than `b`. NaN is worse than everything else, and no better than itself.
bool is_better(double a, double b, Goal goal);

struct AshaOptions {
  int64_t min_steps = 0;  ///< Steps of the first rung, 1 or more.
  int64_t max_steps = 0;  ///< Steps of a trial that is never ended early; more than min_steps.
  int64_t eta =
      3;  ///< One trial in `eta` goes beyond a rung, and each rung has `eta` times the steps of the one before; 2 or more.
  Goal goal = Goal::kMin;
};

/// A pure function of the sequence of its observations.
class Asha {
 public:
  /// InvalidArgument for options beyond their ranges.
  static Result<Asha> create(const AshaOptions& options);

  struct Observation {
    int64_t rung = 0;
    bool goes_on = true;
  };
  /// Takes note of the value of `trial` at `step`. Nothing, where the step reaches no rung that the trial has not been at. Else the
  /// highest such rung, and whether the trial is to go on: its value is among the best 1/eta (at least one) of all that are recorded
  /// at the rung, itself included. Equal values are equally good. A trial with NaN never goes on.
  std::optional<Observation> observe(int64_t trial, int64_t step, double value);
  /// Steps of the rungs, ascending: min_steps * eta^k, all below max_steps.
  const std::vector<int64_t>& rungs() const { return rungs_; }

 private:
  Asha(const AshaOptions& options, std::vector<int64_t> rungs);

  AshaOptions options_;
  std::vector<int64_t> rungs_;
  std::vector<std::vector<double>> values_;  // By rung.
  std::map<int64_t, int64_t> highest_;       // The highest rung of each trial.
};

}  // namespace shoal::tuning
