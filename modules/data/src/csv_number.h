// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers in the fields of tables. Only this file decides which texts are numbers, so csv_columns(), which guesses the
/// types of columns, and the readers of these columns agree. Also makes hints for fields that are no numbers.
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "csv_syntax.h"
#include "shoal/base/dtype.h"
#include "shoal/base/number_text.h"

namespace shoal::data {

/// Reads a whole number with a point or an exponent ("70.0", "7e1"), as programs that have no integer type write it.
template <class T>
std::optional<T> whole_number(std::string_view field) {
  const size_t point = field.find('.');
  const bool no_fraction =
      point != std::string_view::npos && point > 0 && field.find_first_not_of('0', point + 1) == std::string_view::npos;
  if (no_fraction) return number_from<T>(field.substr(0, point));
  constexpr double kExactMax = 9007199254740992;  // 2^53: up to it, a double holds every whole number exactly.
  const auto number = number_from<double>(field);
  if (!number || std::trunc(*number) != *number || std::abs(*number) > kExactMax) return std::nullopt;
  const auto whole = int64_t(*number);
  return std::in_range<T>(whole) ? std::optional<T>(T(whole)) : std::nullopt;
}

/// Returns the text of the number in a field, without the blanks around it; "" if the field is missing.
inline std::string_view number_text(std::string_view field, std::string_view missing_text) {
  const std::string_view text = without_blanks_around(field);
  return text == missing_text ? std::string_view() : text;
}

/// Returns `text` without the plus sign that some people write before a number.
std::string_view without_plus(std::string_view text);

/// Reads a number with a fraction, rounded to the nearest T as IEEE 754 rounds: infinity beyond the range of T, 0 if it is
/// nearer to 0 than to any other T. "inf", "infinity" and "nan" are numbers, in letters of any case.
template <std::floating_point T>
std::optional<T> rounded_number(std::string_view text);

/// Converts all of `text`, from which number_text() has removed blanks, to a T.
template <class T>
std::optional<T> field_number(std::string_view text) {
  if constexpr (std::is_integral_v<T>) {
    const std::string_view digits = without_plus(text);
    const auto number = number_from<T>(digits);
    return number ? number : whole_number<T>(digits);
  } else {
    return rounded_number<T>(text);
  }
}

/// The notation of a number, from which csv_columns() guesses the type.
enum class Notation {
  kNone,      ///< The text is no number.
  kWhole,     ///< A whole number in digits alone, within int64.
  kFraction,  ///< Any other number, even a whole one beyond int64; it is read as float32.
};
/// Tells the notation of `text`. field_number() can read kWhole as int64, and kWhole and kFraction as float32.
Notation notation_of(std::string_view text);

/// Whether `text` is a whole number in digits alone that float32 does not hold, so that it is read as another number.
bool is_changed_by_float32(std::string_view text);

/// Returns advice ("; ...") to append to an error about a `field` that is no number of `dtype`; "" if the field's text
/// suggests no advice.
std::string number_hint(std::string_view field, DType dtype);

}  // namespace shoal::data
