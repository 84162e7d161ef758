// SPDX-License-Identifier: Apache-2.0
#include "plot/smoothing.h"

#include <cmath>

namespace shoal::cli::plot {

std::vector<double> smoothed(const std::vector<double>& values, double weight) {
  std::vector<double> results;
  results.reserve(values.size());
  double sum = 0, weights = 0;
  for (const double value : values) {
    if (!std::isfinite(value) || weight <= 0) {
      results.push_back(value);
      continue;
    }
    sum = weight * sum + (1 - weight) * value;
    weights = weight * weights + (1 - weight);
    results.push_back(sum / weights);
  }
  return results;
}

}  // namespace shoal::cli::plot
