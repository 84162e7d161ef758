// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/base/forever.h"
#include "shoal/monitor/event.h"

namespace shoal::monitor {
namespace {

std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(std::numeric_limits<double>::max());
  std::vector<double> limits;
  for (auto at = positive.rbegin(); at != positive.rend(); ++at) limits.push_back(-*at);
  limits.push_back(0.0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

}  // namespace

Histogram make_histogram(std::span<const float> values) {
  static const auto& limits = forever(make_limits());
  Histogram histogram;
  std::vector<double> counts(limits.size());
  for (float element : values) {
    if (!std::isfinite(element)) continue;
    const double value = double(element);
    histogram.min = histogram.count == 0 ? value : std::min(histogram.min, value);
    histogram.max = histogram.count == 0 ? value : std::max(histogram.max, value);
    histogram.count += 1;
    histogram.sum += value;
    histogram.sum_squares += value * value;
    counts[size_t(std::upper_bound(limits.begin(), limits.end(), value) - limits.begin())] += 1;
  }
  for (size_t i = 0; i < limits.size(); ++i) {
    const bool continues_empty_run = counts[i] == 0 && !histogram.counts.empty() && histogram.counts.back() == 0;
    if (continues_empty_run) {
      histogram.limits.back() = limits[i];
    } else {
      histogram.limits.push_back(limits[i]);
      histogram.counts.push_back(counts[i]);
    }
  }
  return histogram;
}

}  // namespace shoal::monitor
