// SPDX-License-Identifier: Apache-2.0
#include "plot/best_value.h"

#include <cmath>

namespace shoal::cli::plot {

std::optional<Timed<double>> best_of(const std::vector<Timed<double>>& values, std::optional<tuning::Goal> goal) {
  std::optional<Timed<double>> best;
  if (!goal) return best;
  for (const Timed<double>& value : values) {
    if (!std::isfinite(value.value)) continue;
    if (!best || tuning::is_better(value.value, best->value, *goal)) best = value;
  }
  return best;
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

int better_one(double a, double b, std::optional<tuning::Goal> goal) {
  if (!goal || is_same(a, b)) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isfinite(a) ? -1 : std::isfinite(b) ? 1 : 0;
  return tuning::is_better(a, b, *goal) ? -1 : 1;
}

}  // namespace shoal::cli::plot
