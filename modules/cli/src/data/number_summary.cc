// SPDX-License-Identifier: Apache-2.0
#include "data/number_summary.h"

#include <algorithm>
#include <cmath>

namespace shoal::cli {

/// Source: Welford, "Note on a method for calculating corrected sums of squares and products" (Technometrics 1962).
void NumberSummary::add(double number) {
  if (std::isnan(number)) {
    ++none_;
    return;
  }
  least_ = std::min(least_, number);
  most_ = std::max(most_, number);
  if (keeps_) sketch_.add(number);
  if (std::isinf(number)) {
    ++infinite_;
    return;
  }
  ++finite_;
  least_finite_ = std::min(least_finite_, number);
  most_finite_ = std::max(most_finite_, number);
  const double before = number - mean_;
  mean_ += before / double(finite_);
  deviations_ += before * (number - mean_);
}

double NumberSummary::standard_deviation() const { return finite_ == 0 ? 0 : std::sqrt(deviations_ / double(finite_)); }

std::vector<double> NumberSummary::quantiles(const std::vector<double>& shares) const {
  const std::vector<QuantileSketch::Weighted> all = sketch_.sorted();
  std::vector<double> found;
  uint64_t sum = 0, before = 0;
  for (const QuantileSketch::Weighted& one : all) sum += one.weight;
  auto at = all.begin();
  for (const double share : shares) {  // The shares ascend.
    while (at != all.end() && double(before + at->weight) < share * double(sum)) before += (at++)->weight;
    if (!all.empty()) found.push_back(at == all.end() ? all.back().number : at->number);
  }
  return found;
}

std::vector<NumberSummary::Bin> NumberSummary::histogram(size_t bins) const {
  if (finite_ == 0) return {};
  const bool is_constant = least_finite_ == most_finite_;
  if (is_constant) bins = 1;
  std::vector<Bin> made(bins);
  // Each bound is divided before the subtraction, since the difference of the bounds may overflow to infinity.
  const double width = most_finite_ / double(bins) - least_finite_ / double(bins);
  for (size_t i = 0; i < bins; ++i) {
    made[i] = {least_finite_ + width * double(i), least_finite_ + width * double(i + 1), 0};
  }
  made.back().to = most_finite_;
  size_t bin = 0;
  for (const auto& [number, weight] : sketch_.sorted()) {
    if (std::isinf(number)) continue;
    while (bin + 1 < bins && number >= made[bin].to) ++bin;
    made[bin].count += weight;
  }
  return made;
}

}  // namespace shoal::cli
