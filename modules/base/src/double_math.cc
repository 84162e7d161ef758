// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/double_math.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <numbers>

namespace shoal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNoNumber = std::numeric_limits<double>::quiet_NaN();
// log(2) in two parts. The first has 32 bits, so that its product with the exponent of any double is exact.
constexpr double kLogTwoHigh = 6.93147180369123816490e-01, kLogTwoLow = 1.90821492927058770002e-10;

/// 1 - x^2 / 2! + x^4 / 4! - ..., for |x| up to pi / 4, where the next term is below 1e-18.
double cosine_series(double x) {
  const double z = x * x;
  double sum = 0;
  for (int n = 18; n >= 2; n -= 2) sum = (1 - sum) * z / (double(n) * double(n - 1));
  return 1 - sum;
}

/// x - x^3 / 3! + x^5 / 5! - ..., for |x| up to pi / 4.
double sine_series(double x) {
  const double z = x * x;
  double sum = 0;
  for (int n = 19; n >= 3; n -= 2) sum = (1 - sum) * z / (double(n) * double(n - 1));
  return x * (1 - sum);
}

}  // namespace

/// With x = m 2^e and m between sqrt(1/2) and sqrt(2): e log(2), plus twice the series of the inverse hyperbolic tangent at
/// (m - 1) / (m + 1) (Abramowitz, Stegun, 4.1.27).
double double_log(double x) {
  if (x != x || x == kInfinity) return x;
  if (x <= 0) return x == 0 ? -kInfinity : kNoNumber;
  int64_t scaled = 0;
  if (x < std::numeric_limits<double>::min()) x *= 0x1p54, scaled = 54;
  constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd;  // The bits of sqrt(1/2).
  const int64_t bits = std::bit_cast<int64_t>(x) - kRootHalf;
  const double e = double((bits >> 52) - scaled);
  const double m = std::bit_cast<double>((bits & 0xfffffffffffff) + kRootHalf);
  const double f = m - 1, s = f / (2 + f), z = s * s;
  double series = 0;
  for (int n = 23; n >= 3; n -= 2) series = (series + 1 / double(n)) * z;
  // With f = m - 1 and s = f / (2 + f): log(m) = 2 atanh(s) = 2 s + 2 s * series, where 1 + series is the power series of
  // atanh(s) divided by s. Since 2 s = f - s f, log(m) = f - rest. Its largest term, f, has no rounding error.
  const double rest = s * (f - 2 * series);
  return e * kLogTwoHigh - ((rest - e * kLogTwoLow) - f);
}

/// With x = n log(2) + r and |r| up to log(2) / 2: 2^n e^r, by the series of e^r.
double double_exp(double x) {
  if (x != x) return x;
  if (x > 709.78) return kInfinity;
  if (x < -708) return 0;
  const auto n = int64_t(x * std::numbers::log2e + (x < 0 ? -0.5 : 0.5));
  const double high = x - double(n) * kLogTwoHigh, r = high - double(n) * kLogTwoLow;
  double sum = 0;
  for (int k = 14; k >= 2; --k) sum = (sum + 1) * r / double(k);
  const double y = 1 + (r + r * sum);
  // y * 2^n in two factors if n is 1024, since 2^1024 does not fit a double.
  return n > 1023 ? y * 2 * std::bit_cast<double>(int64_t(n - 1 + 1023) << 52)
                  : y * std::bit_cast<double>(int64_t(n + 1023) << 52);
}

double double_pow(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (base == 0) return exponent > 0 ? 0 : (exponent < 0 ? kInfinity : exponent);
  return double_exp(exponent * double_log(base));
}

double double_cos(double angle) {
  if (angle <= std::numbers::pi / 4) return cosine_series(angle);
  if (angle <= 3 * std::numbers::pi / 4) return sine_series(std::numbers::pi / 2 - angle);
  return -cosine_series(std::numbers::pi - angle);
}

}  // namespace shoal
