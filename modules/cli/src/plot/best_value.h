// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Picks the better values of a metric. An empty goal means that nobody knows whether more or less of the metric is better.
#include <optional>
#include <vector>

#include "plot/sequence.h"
#include "shoal/search/goal.h"

namespace shoal::cli::plot {

/// Returns the best finite value, the earliest of equal ones. Nothing if there is none, or if `goal` is empty.
std::optional<Timed<double>> best_of(const std::vector<Timed<double>>& values, std::optional<tuning::Goal> goal);

/// True if both values are equal, or both are NaN.
bool is_same(double a, double b);

/// Returns -1 if the first value is better, 1 if the second is, 0 if neither is. Finite values are better than others.
int better_one(double a, double b, std::optional<tuning::Goal> goal);

}  // namespace shoal::cli::plot
