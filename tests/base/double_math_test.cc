// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/double_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "shoal/base/random.h"

namespace shoal {
namespace {

constexpr double kDoubleUnit = std::numeric_limits<double>::epsilon();
constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();

/// How far y is from `expected`, in units in the last place of `expected`.
double units(double y, double expected) { return std::fabs(y - expected) / (std::fabs(expected) * kDoubleUnit); }

TEST(DoubleMath, LogarithmsAreThoseOfTheCLibraryWithinTwoUnits) {
  RandomStream stream(1);
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::ldexp(1 + double(stream.below(uint64_t(1) << 52)) * 0x1p-52, int(stream.below(2000)) - 1000);
    ASSERT_LE(units(double_log(x), std::log(x)), 2) << x;
    const double near_one = 1 + (double(stream.below(uint64_t(1) << 40)) * 0x1p-40 - 0.5) * 0.1;
    if (near_one != 1) {
      ASSERT_LE(units(double_log(near_one), std::log(near_one)), 2) << near_one;
    }
  }
  EXPECT_EQ(double_log(1), 0);
  EXPECT_EQ(double_log(0), -kDoubleInfinity);
  EXPECT_EQ(double_log(kDoubleInfinity), kDoubleInfinity);
  EXPECT_TRUE(std::isnan(double_log(-1)));
  EXPECT_TRUE(std::isnan(double_log(std::nan(""))));
  EXPECT_LE(units(double_log(5e-324), std::log(5e-324)), 2);
}

TEST(DoubleMath, ExponentialsAreThoseOfTheCLibraryWithinTwoUnits) {
  RandomStream stream(2);
  for (int i = 0; i < 200'000; ++i) {
    const double x = (double(stream.below(uint64_t(1) << 52)) * 0x1p-52 - 0.5) * 1416;
    ASSERT_LE(units(double_exp(x), std::exp(x)), 2) << x;
  }
  EXPECT_EQ(double_exp(0), 1);
  EXPECT_LE(units(double_exp(709.7), std::exp(709.7)), 2);
  EXPECT_EQ(double_exp(710), kDoubleInfinity);
  EXPECT_EQ(double_exp(-kDoubleInfinity), 0);
  EXPECT_TRUE(std::isnan(double_exp(std::nan(""))));
}

TEST(DoubleMath, PowersAreThoseOfTheCLibrary) {
  for (const double base : {0.5, 0.9, 0.96, 0.999, 1.5, 3.0}) {
    for (const double exponent : {0.5, 1.0, 2.0, 10.0, 300.25}) {
      ASSERT_LE(units(double_pow(base, exponent), std::pow(base, exponent)), 2 + 2 * std::fabs(exponent * std::log(base)))
          << base << "^" << exponent;
    }
  }
  EXPECT_EQ(double_pow(0.3, 0), 1);
  EXPECT_EQ(double_pow(0, 0.5), 0);
  EXPECT_EQ(double_pow(1, 1e300), 1);
}

TEST(DoubleMath, CosinesAreThoseOfTheCLibrary) {
  for (int i = 0; i <= 100'000; ++i) {
    const double angle = std::numbers::pi * i / 100'000;
    ASSERT_LE(std::fabs(double_cos(angle) - std::cos(angle)), 2 * kDoubleUnit) << angle;
  }
  EXPECT_EQ(double_cos(0), 1);
  EXPECT_EQ(double_cos(std::numbers::pi), -1);
}

/// Recorded on x86-64. A processor, compiler or library that gave another bit would be found here.
TEST(DoubleMath, HasTheSameBitsEverywhere) {
  uint64_t bits = 0;
  const auto add = [&](double y) { bits = (bits ^ std::bit_cast<uint64_t>(y)) * 0x9e3779b97f4a7c15 + 1; };
  for (int i = 1; i <= 1000; ++i) {
    const double x = i * 0.37;
    add(double_log(x)), add(double_exp(x - 185)), add(double_pow(0.96, x)), add(double_cos(std::numbers::pi * i / 1000));
  }
  EXPECT_EQ(bits, 12956771543772660219u);
}

}  // namespace
}  // namespace shoal
