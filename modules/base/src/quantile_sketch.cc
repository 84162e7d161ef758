// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/quantile_sketch.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/check.h"

namespace shoal {

void QuantileSketch::add(double number) {
  SHOAL_DCHECK(!std::isnan(number));
  levels_[0].push_back(number);
  if (++kept_ > capacity_) compress();
}

/// The capacity of a level. The highest level is the largest; each lower level has two thirds of the one above it.
size_t QuantileSketch::capacity_of(size_t level) const {
  constexpr double kShrink = 2.0 / 3;
  constexpr size_t kLeast = 8;
  // All levels together hold at most three times as many numbers as the highest level.
  const double room = double(capacity_) / 3 * std::pow(kShrink, double(levels_.size() - 1 - level));
  return std::max(kLeast, size_t(room));
}

/// Moves every second number of a full level up by one level, where a number represents twice as many values.
void QuantileSketch::compress() {
  size_t level = 0;
  while (level + 1 < levels_.size() && levels_[level].size() < capacity_of(level)) ++level;
  if (level + 1 == levels_.size()) levels_.emplace_back();
  std::vector<double>& full = levels_[level];
  std::vector<double>& above = levels_[level + 1];
  std::sort(full.begin(), full.end());
  coin_ ^= coin_ << 13;
  coin_ ^= coin_ >> 7;
  coin_ ^= coin_ << 17;
  const size_t pairs = full.size() / 2;
  for (size_t i = 0; i < pairs; ++i) above.push_back(full[2 * i + (coin_ >> 63)]);
  full.erase(full.begin(), full.begin() + ptrdiff_t(2 * pairs));
  kept_ -= pairs;
}

std::vector<QuantileSketch::Weighted> QuantileSketch::sorted() const {
  std::vector<Weighted> all;
  for (size_t level = 0; level < levels_.size(); ++level) {
    for (const double number : levels_[level]) all.push_back({number, uint64_t(1) << level});
  }
  std::sort(all.begin(), all.end(), [](const Weighted& a, const Weighted& b) { return a.number < b.number; });
  return all;
}

}  // namespace shoal
