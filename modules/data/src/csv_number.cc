// SPDX-License-Identifier: Apache-2.0
#include "csv_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace shoal::data {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool has_digits(std::string_view field) { return field.find_first_of(kDigits) != std::string_view::npos; }

std::string without(std::string_view field, std::string_view characters) {
  std::string text(field);
  std::erase_if(text, [characters](char c) { return characters.find(c) != std::string_view::npos; });
  return text;
}

/// A decimal number, taken apart: the digits before its point, those behind it, and its exponent.
struct Decimal {
  bool minus = false;
  std::string_view whole, fraction;
  int64_t exponent = 0;  ///< At most 2^40 from 0, which is more than any type's exponent; sums with it do not overflow.

  char digit(size_t index) const { return index < whole.size() ? whole[index] : fraction[index - whole.size()]; }
  size_t digits() const { return whole.size() + fraction.size(); }
  /// The power of ten by which digit `index` of whole and fraction is multiplied.
  int64_t power_of(size_t index) const { return int64_t(whole.size()) - 1 - int64_t(index) + exponent; }
};

bool all_digits(std::string_view text) { return text.find_first_not_of(kDigits) == std::string_view::npos; }

/// Takes apart "-70.5e3" and its like; nothing for a text that is no decimal number.
std::optional<Decimal> decimal_from(std::string_view text) {
  constexpr int64_t kExponentMax = int64_t(1) << 40;
  Decimal number;
  number.minus = text.starts_with('-');
  text.remove_prefix(number.minus);
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, mark);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  number.whole = mantissa.substr(0, point);
  number.fraction = mantissa.substr(std::min(point + 1, mantissa.size()));
  if (number.digits() == 0 || !all_digits(number.whole) || !all_digits(number.fraction)) return std::nullopt;
  if (mark == text.size()) return number;
  const auto exponent = clamped_number_from<int64_t>(without_plus(text.substr(mark + 1)));
  if (!exponent) return std::nullopt;
  number.exponent = std::clamp(*exponent, -kExponentMax, kExponentMax);
  return number;
}

/// The digits of a number without the zeros before and behind them: the indexes of the first one and of the last one.
struct DigitRange {
  size_t first, last;
};

/// Nothing for 0.
std::optional<DigitRange> digits_in(const Decimal& number) {
  DigitRange range{0, number.digits()};
  while (range.first < range.last && number.digit(range.first) == '0') ++range.first;
  while (range.last > range.first && number.digit(range.last - 1) == '0') --range.last;
  if (range.first == range.last) return std::nullopt;
  --range.last;
  return range;
}

/// Tells why a decimal number is beyond the range of its type: true if it is too large, false if it is too close to 0.
bool is_too_large(std::string_view text) {
  const auto number = decimal_from(text);
  const auto range = number ? digits_in(*number) : std::nullopt;
  return range && number->power_of(range->first) >= 0;
}

/// Returns "0x1F" as "31"; nothing for a text that is no such number.
std::optional<std::string> hexadecimal(std::string_view field) {
  const bool minus = field.starts_with('-');
  if (minus || field.starts_with('+')) field.remove_prefix(1);
  if (!field.starts_with("0x") && !field.starts_with("0X")) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.data() + 2, field.data() + field.size(), value, 16);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return (minus ? "-" : "") + std::to_string(value);
}

/// Whether `mark` stands before each group of three digits, and nowhere else, up to `end`.
bool groups_thousands(std::string_view field, char mark, size_t end) {
  const size_t first = field.find(mark);
  if (first == std::string_view::npos || first == 0 || first > 4) return false;
  for (size_t at = first; at < end; at += 4) {
    if (field[at] != mark || end - at < 4) return false;
    if (field.substr(at + 1, 3).find_first_not_of(kDigits) != std::string_view::npos) return false;
  }
  return true;
}

/// Returns "1,234.5" and "1.234,5" as "1234.5", "50,5" as "50.5", and "1,234" as "1234 or 1.234".
std::optional<std::string> with_a_point(std::string_view field) {
  const size_t comma = field.rfind(','), point = field.rfind('.');
  const auto number = [](std::string text) {
    std::replace(text.begin(), text.end(), ',', '.');
    return rounded_number<double>(text) ? std::optional(text) : std::nullopt;
  };
  if (comma == std::string_view::npos) return std::nullopt;
  if (point != std::string_view::npos) return number(without(field, point > comma ? "," : "."));
  const bool grouped = groups_thousands(field, ',', field.size());
  if (std::count(field.begin(), field.end(), ',') > 1) return grouped ? number(without(field, ",")) : std::nullopt;
  const auto fraction = number(std::string(field));
  return grouped && fraction ? number(without(field, ",")).value_or("") + " or " + *fraction : fraction;
}

bool is_any_of(std::string_view field, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [field](std::string_view word) {
    return std::equal(field.begin(), field.end(), word.begin(), word.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? char(a - 'A' + 'a') : a) == b; });
  });
}

/// Returns the hint for a field that is a number, but not one of `dtype`.
std::string type_hint(double number, std::string_view field, DType dtype) {
  if (!std::isfinite(number)) return "; a column with such values has to be float32";
  if (has_fraction(field)) return "; it has a fraction, so the column has to be float32";
  return "; it is beyond the range of " + std::string(to_string(dtype));
}

}  // namespace

std::string_view without_plus(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

std::optional<int64_t> whole_number(std::string_view text) {
  constexpr int64_t kDigitsMax = 19;  // As many as the largest int64 has; uint64 holds every number of 19 digits.
  const auto number = decimal_from(text);
  if (!number) return std::nullopt;
  const auto range = digits_in(*number);
  if (!range) return 0;
  if (number->power_of(range->last) < 0 || number->power_of(range->first) >= kDigitsMax) return std::nullopt;
  uint64_t size = 0;
  for (size_t i = range->first; i <= range->last; ++i) size = 10 * size + uint64_t(number->digit(i) - '0');
  for (int64_t zeros = number->power_of(range->last); zeros > 0; --zeros) size *= 10;
  const uint64_t size_max = uint64_t(INT64_MAX) + number->minus;
  if (size > size_max) return std::nullopt;
  return number->minus ? int64_t(uint64_t(0) - size) : int64_t(size);
}

bool has_fraction(std::string_view text) {
  const auto number = decimal_from(without_plus(text));
  const auto range = number ? digits_in(*number) : std::nullopt;
  return range && number->power_of(range->last) < 0;
}

template <std::floating_point T>
std::optional<T> rounded_number(std::string_view text) {
  text = without_plus(text);
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (text.back() == ')') return std::nullopt;  // "nan(...)" of C.
  if (error == std::errc()) return number;
  number = is_too_large(text) ? std::numeric_limits<T>::infinity() : T(0);
  return text.starts_with('-') ? -number : number;
}
template std::optional<float> rounded_number(std::string_view);
template std::optional<double> rounded_number(std::string_view);

Notation notation_of(std::string_view text) {
  if (number_from<int64_t>(without_plus(text))) return Notation::kWhole;
  return field_number<float>(text) ? Notation::kFraction : Notation::kNone;
}

bool is_changed_by_float32(std::string_view text) {
  constexpr size_t kAlwaysExactDigits = 7;  // 9,999,999 is below 2^24, up to which each whole number is a float32.
  std::string_view digits = without_plus(text);
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of(kDigits) != std::string_view::npos) return false;
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() <= kAlwaysExactDigits) return false;
  const float number = field_number<float>(digits).value_or(0);
  std::array<char, 64> exact{};  // The largest float32 has 39 digits before the point.
  if (!std::isfinite(number)) return true;
  const auto [end, error] = std::to_chars(exact.data(), exact.data() + exact.size(), number, std::chars_format::fixed, 0);
  return error != std::errc() || std::string_view(exact.data(), size_t(end - exact.data())) != digits;
}

std::string number_hint(std::string_view field, DType dtype) {
  if (const auto number = field_number<double>(field)) return type_hint(*number, field, dtype);
  const std::string packed = without(field, " \t");
  if (packed.size() < field.size() && field_number<double>(packed)) return "; numbers are read without blanks: " + packed;
  if (const auto decimal = hexadecimal(field)) return "; numbers are read in decimal: " + *decimal;
  if (const auto text = with_a_point(packed)) {
    return "; numbers are read with a point, and without marks between thousands: " + *text;
  }
  const std::string bare = without(packed, "_'");
  if (bare.size() < packed.size() && field_number<double>(bare)) {
    return "; numbers are read without marks between thousands: " + bare;
  }
  if (is_any_of(field, {"true", "false", "yes", "no"})) return "; write 1 and 0 for it, or let the column be text";
  if (!has_digits(field)) return "; if that says that it is missing, let missing_text (--missing) be that text";
  const std::string number = without(packed, "%$");
  if (number.size() < packed.size() && field_number<double>(number)) return "; numbers are read without a unit: " + number;
  return "";
}

}  // namespace shoal::data
