// SPDX-License-Identifier: Apache-2.0
/// Quantiles of more numbers than the sketch keeps.
#include "shoal/base/quantile_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace shoal {
namespace {

TEST(QuantileSketch, RepresentsAllNumbersInBoundedMemory) {
  QuantileSketch sketch(300);
  for (int i = 0; i < 100'000; ++i) sketch.add(i);
  uint64_t sum = 0;
  for (const auto& one : sketch.sorted()) sum += one.weight;
  EXPECT_EQ(sum, 100'000u);
  EXPECT_LE(sketch.sorted().size(), 300u);
  EXPECT_FALSE(sketch.is_exact());
}

TEST(QuantileSketch, KeepsAllUpToItsCapacity) {
  QuantileSketch sketch(300);
  for (int i = 0; i < 300; ++i) sketch.add((i * 7) % 300);
  EXPECT_TRUE(sketch.is_exact());
  const auto all = sketch.sorted();
  ASSERT_EQ(all.size(), 300u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].number, double(i));
    EXPECT_EQ(all[i].weight, 1u);
  }
}

TEST(QuantileSketch, RanksAreAsExactAsItsHeaderSays) {
  constexpr int kNumbers = 1'000'000;
  constexpr size_t kCapacity = 3000;
  // Ascending, mixed and descending numbers: each occurs once, since no step shares a factor with kNumbers.
  for (const int step : {1, 7919, kNumbers - 1}) {
    QuantileSketch sketch(kCapacity);
    for (int i = 0; i < kNumbers; ++i) sketch.add(double(int64_t(i) * step % kNumbers));
    uint64_t below = 0;
    double worst = 0;
    for (const auto& one : sketch.sorted()) {
      worst = std::max(worst, std::abs(double(below) - one.number));  // The number is its own rank.
      below += one.weight;
    }
    // Every position is checked, hence twice the error that 99 of 100 single ones have.
    EXPECT_LE(worst / kNumbers, 2 * 2.3 / std::pow(double(kCapacity) / 3, 0.9)) << step;
  }
}

}  // namespace
}  // namespace shoal
