// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How two runs differ: what they were given, what came out, and where their curves part.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plot/better.h"
#include "plot/history.h"
#include "plot/run_facts.h"

namespace shoal::cli::plot {

/// A fact that differs. Null: the run does not tell.
struct FactDifference {
  std::string name;
  json::Json a, b;
};

/// A metric of evaluations that both runs have.
struct MetricComparison {
  Key key;
  Better better = Better::kUnknown;
  Timed<double> last_a, last_b;
  std::optional<Timed<double>> best_a, best_b;
};

struct StepDifference {
  int64_t step = 0;
  double a = 0, b = 0;
};

/// A scalar of training that both runs have.
struct CurveComparison {
  Key key;
  int64_t count_a = 0, count_b = 0, last_step_a = 0, last_step_b = 0;
  int64_t compared = 0;                     ///< Steps that both have a value of.
  std::optional<StepDifference> first;      ///< The first step at which the values are not the same.
  std::optional<StepDifference> first_far;  ///< The first at which they are further apart than kFar of the larger one.
};
inline constexpr double kFar = 1e-6;

struct Comparison {
  std::vector<FactDifference> facts;  ///< By name.
  bool knows_facts = false;           ///< True if a folder tells anything of what its run was given.
  std::vector<MetricComparison> metrics;
  std::vector<CurveComparison> curves;
  std::vector<Key> only_a, only_b;  ///< Scalars that one run alone has.
};

Comparison compare(const History& a, const RunFacts& facts_a, const History& b, const RunFacts& facts_b);

/// Which of two values is better: -1 the first, 1 the second, 0 neither. A value that is not finite is worse than any that is.
int better_one(double a, double b, Better better);

/// True for scalars that measure how fast a machine was, which differ between any two runs: "global_step/sec", "input_wait".
bool measures_speed(const std::string& tag);

}  // namespace shoal::cli::plot
