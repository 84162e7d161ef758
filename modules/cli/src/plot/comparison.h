// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compares two runs: their settings, seeds and versions, their metrics, and the steps at which their curves begin to
/// differ.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plot/best_value.h"
#include "plot/history.h"
#include "plot/run_facts.h"

namespace shoal::cli::plot {

/// A fact (setting, seed or version) in which the runs differ, with its value in run a and in run b. A null value: the run
/// has no such fact.
struct FactDifference {
  std::string name;
  json::Json a, b;
};

/// A metric that evaluations of both runs have.
struct MetricComparison {
  Key key;
  std::optional<tuning::Goal> goal = {};
  Timed<double> last_a, last_b;
  std::optional<Timed<double>> best_a, best_b;
};

struct StepDifference {
  int64_t step = 0;
  double a = 0, b = 0;
};

/// Compares one scalar, such as the loss, that both runs recorded while they trained.
struct CurveComparison {
  Key key;
  int64_t count_a = 0, count_b = 0, last_step_a = 0, last_step_b = 0;
  int64_t compared = 0;                     ///< The number of steps at which both runs have a value.
  std::optional<int64_t> last_same;         ///< The last step with equal values in both runs, before they first differ.
  std::optional<StepDifference> first;      ///< The first step at which the values differ.
  std::optional<StepDifference> first_far;  ///< The first step where the difference exceeds kFar times the larger value.
};
inline constexpr double kFar = 1e-6;

struct Comparison {
  std::vector<FactDifference> facts;  ///< By name.
  bool knows_facts = false;           ///< True if a setting, seed or version of at least one run is known.
  std::vector<MetricComparison> metrics;
  std::vector<CurveComparison> curves;
  std::vector<Key> only_a, only_b;  ///< Scalars that only one of the runs has.
};

Comparison compare(const History& a, const RunFacts& facts_a, const History& b, const RunFacts& facts_b);

/// True for scalars that measure the speed of a machine, which differ between any two runs: "global_step/sec",
/// "input_wait".
bool measures_speed(const std::string& tag);

}  // namespace shoal::cli::plot
