// SPDX-License-Identifier: Apache-2.0
#include "printed_shortest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "shoal/base/format.h"

namespace shoal {
namespace {

/// A decimal number: its sign, its digits, and the power of ten by which the first digit counts. 0.25 is "", "25" and -1.
struct Digits {
  std::string sign, digits;
  int exponent = 0;

  size_t count() const { return digits.size(); }
  std::string exponent_text() const {
    const std::string size = std::to_string(std::abs(exponent));
    return (exponent < 0 ? "e-" : "e+") + std::string(size.size() < 2 ? "0" : "") + size;
  }
  std::string scientific() const {
    return sign + digits[0] + (count() > 1 ? "." + digits.substr(1) : "") + exponent_text();
  }
  /// Requires a digit for each place before the point.
  std::string fixed() const {
    if (exponent < 0) return sign + "0." + std::string(size_t(-exponent) - 1, '0') + digits;
    const size_t whole = size_t(exponent) + 1;
    return sign + digits.substr(0, whole) + (count() > whole ? "." + digits.substr(whole) : "");
  }
  size_t fixed_size() const {
    const size_t whole = exponent < 0 ? 1 : size_t(exponent) + 1;
    const size_t behind = exponent < 0 ? count() + size_t(-exponent) - 1 : count() - std::min(count(), whole);
    return sign.size() + whole + (behind > 0 ? 1 + behind : 0);
  }
};

/// The nearest decimal number of `count` digits.
Digits printed(double number, int count) {
  const std::string text = formatted("%.*e", count - 1, number);
  const std::string_view whole = text;
  const size_t exponent = whole.find('e');
  Digits result;
  for (const char c : whole.substr(0, exponent)) {
    if (c == '-') result.sign = "-";
    if (c >= '0' && c <= '9') result.digits += c;
  }
  const std::string_view power = whole.substr(exponent + (whole[exponent + 1] == '+' ? 2 : 1));
  std::from_chars(power.data(), power.data() + power.size(), result.exponent);
  return result;
}

/// Changes `digits` to the next decimal number away from zero that has as many digits.
void increment(Digits& digits) {
  size_t at = digits.count();
  while (at > 0 && digits.digits[at - 1] == '9') digits.digits[--at] = '0';
  if (at > 0) {
    ++digits.digits[at - 1];
  } else {
    digits.digits[0] = '1';
    ++digits.exponent;
  }
}

template <class Float>
bool reads_back_as(Float number, const Digits& digits) {
  const std::string text = digits.scientific();
  Float read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  return error == std::errc() && read == number;
}

/// If a decimal number of at most digits10 digits reads back as `number`, then printing `number` with digits10 digits gives
/// the digits of that decimal number, followed by zeros. Otherwise this function tries one count of digits after the other.
/// It also does so for subnormal numbers, since they have fewer bits than digits10 stands for.
template <class Float>
Digits shortest_digits(Float number) {
  using Limits = std::numeric_limits<Float>;
  // From a power of two, the next number away from zero is twice as far as the one towards zero. So the nearest decimal
  // number, if it lies towards zero, may read back as another number, while the next decimal number away from zero reads
  // back as `number`.
  int exponent = 0;
  const bool is_power_of_two = std::abs(std::frexp(number, &exponent)) == Float(0.5);
  const bool has_all_bits = std::abs(number) >= Limits::min();
  Digits digits = printed(double(number), Limits::digits10);
  if (number == 0 || (has_all_bits && reads_back_as(number, digits))) {
    digits.digits.erase(std::max<size_t>(digits.digits.find_last_not_of('0') + 1, 1));
    return digits;
  }
  for (int count = has_all_bits ? Limits::digits10 + 1 : 1; count < Limits::max_digits10; ++count) {
    digits = printed(double(number), count);
    if (reads_back_as(number, digits)) return digits;
    increment(digits);
    if (is_power_of_two && reads_back_as(number, digits)) return digits;
  }
  return printed(double(number), Limits::max_digits10);
}

template <class Float>
std::string shortest(Float number) {
  if (std::isnan(number)) return std::signbit(number) ? "-nan" : "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  const Digits digits = shortest_digits(number);
  const std::string scientific = digits.scientific();
  if (scientific.size() < digits.fixed_size()) return scientific;
  if (digits.exponent < 0 || digits.count() > size_t(digits.exponent)) return digits.fixed();
  return formatted("%.0f", double(number));  // As to_chars(): the exact digits, where fixed() would need zeros.
}

}  // namespace

std::string printed_shortest(double number) { return shortest(number); }
std::string printed_shortest(float number) { return shortest(number); }

}  // namespace shoal
