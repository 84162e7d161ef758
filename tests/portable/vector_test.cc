// SPDX-License-Identifier: Apache-2.0
/// The functions that loops of ours are made of, against double precision: errors in units in the last place, and what
/// becomes of infinities and NaN.
#include "vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace shoal::backends::portable {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Function {
  const char* name;
  float (*approximate)(float);
  double (*exact)(double);
  float low, high;  ///< The range in which the error is measured.
  double units;     ///< The most that error() may give.
  float at_minus_infinity, at_infinity;
};

class VectorFunctions : public ::testing::TestWithParam<Function> {
 protected:
  /// The error in units in the last place of the exact value; 0 where that is not a normal number.
  static double error(float x) {
    const double exact = GetParam().exact(double(x));
    const float rounded = std::fabs(float(exact));
    if (!std::isnormal(rounded)) return 0;
    const double unit = double(std::nextafter(rounded, kInfinity)) - double(rounded);
    return std::fabs(double(GetParam().approximate(x)) - exact) / unit;
  }
};

TEST_P(VectorFunctions, AreWithinAFewUnitsInTheLastPlace) {
  const auto& [name, approximate, exact, low, high, units, at_minus_infinity, at_infinity] = GetParam();
  double worst = 0;
  float worst_at = 0;
  auto check = [&, least = low, most = high](float x) {
    if (x < least || x > most) return;
    if (const double here = error(x); !(here <= worst)) worst = here, worst_at = x;
  };
  constexpr int kSteps = 200'000;
  for (int i = 0; i <= kSteps; ++i) check(low + (high - low) * (float(i) / kSteps));
  for (float size = 1e-37f; size < 1e38f; size *= 1.003f) check(size), check(-size);
  EXPECT_LE(worst, units) << "at " << worst_at;
}

TEST_P(VectorFunctions, TakeInfinitiesToTheirLimitsAndKeepNaN) {
  const auto& function = GetParam();
  EXPECT_TRUE(std::isnan(function.approximate(kNaN)));
  auto expect_same = [&](float actual, float expected) {
    EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected))) << actual << ", expected " << expected;
  };
  expect_same(function.approximate(kInfinity), function.at_infinity);
  expect_same(function.approximate(-kInfinity), function.at_minus_infinity);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
float expm1_below(float x) { return x > 0 ? x : vector_expm1_negative(x); }
double exact_expm1_below(double x) { return x > 0 ? x : std::expm1(x); }
float log1p_inside(float x) { return x < 0 || x > 1 ? x : vector_log1p_unit(x); }
double exact_log1p_inside(double x) { return std::log1p(x); }

INSTANTIATE_TEST_SUITE_P(
    Vector, VectorFunctions,
    ::testing::Values(Function{"Exp", vector_exp, std::exp, -87.3f, 88.7228f, 1.5, 0, kInfinity},
                      Function{"Expm1Negative", expm1_below, exact_expm1_below, -100, 0, 1.5, -1, kInfinity},
                      Function{"Log", vector_log, std::log, 1.2e-38f, 3.4e38f, 1.0, kNaN, kInfinity},
                      Function{"LogNearOne", vector_log, std::log, 0.5f, 2, 1.0, kNaN, kInfinity},
                      Function{"Log1pUnit", log1p_inside, exact_log1p_inside, 0, 1, 2.5, -kInfinity, kInfinity},
                      Function{"Sigmoid", vector_sigmoid, sigmoid, -87, 88, 3.0, 0, 1},
                      Function{"Tanh", vector_tanh, std::tanh, -30, 30, 3.0, -1, 1},
                      Function{"Softplus", vector_softplus, softplus, -80, 1e30f, 3.5, 0, kInfinity},
                      Function{"Erf", vector_erf, std::erf, -10, 10, 8.5, -1, 1}),
    [](const auto& test_info) { return std::string(test_info.param.name); });

TEST(VectorLog, IsMinusInfinityAtZeroAndNaNBelow) {
  EXPECT_EQ(vector_log(0.0f), -kInfinity);
  EXPECT_EQ(vector_log(-0.0f), -kInfinity);
  EXPECT_TRUE(std::isnan(vector_log(-1.0f)));
  EXPECT_EQ(vector_log(1.0f), 0.0f);
}

/// Against pow() of double precision.
TEST(VectorPow, IsWithinAUnitInTheLastPlace) {
  double worst = 0;
  float worst_a = 0, worst_b = 0;
  for (float a = 1.2e-38f; a < 3e38f; a *= 1.37f) {
    for (float b = -3000; b<3000; b += b> - 4 && b < 4 ? 0.03f : 7.3f) {
      const double exact = std::pow(double(a), double(b));
      const auto rounded = float(exact);
      if (!std::isnormal(rounded)) continue;
      const double unit = double(std::nextafter(rounded, kInfinity)) - double(rounded);
      const double error = std::fabs(double(vector_pow(a, b)) - exact) / unit;
      if (!(error <= worst)) worst = error, worst_a = a, worst_b = b;
    }
  }
  EXPECT_LE(worst, 1) << worst_a << " to the power of " << worst_b;
}

TEST(VectorPow, IsThatOfCAtItsEdges) {
  const float values[] = {0.0f,  -0.0f,    1,         -1,       0.5f,  -0.5f,  2,      -2,    3,         -3,         1.5f,
                          -2.5f, 16777215, -16777215, 16777216, 1e30f, -1e30f, 1e-30f, 3e38f, kInfinity, -kInfinity, kNaN};
  for (float a : values) {
    for (float b : values) {
      const auto expected = float(std::pow(double(a), double(b)));
      if (expected != 0 && !std::isnormal(expected) && std::isfinite(expected)) continue;
      const float actual = vector_pow(a, b);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << a << " to the power of " << b << ": " << actual;
      } else {
        EXPECT_FLOAT_EQ(actual, expected) << a << " to the power of " << b;
        EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << a << " to the power of " << b;
      }
    }
  }
}

}  // namespace
}  // namespace shoal::backends::portable
