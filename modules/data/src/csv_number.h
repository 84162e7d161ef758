// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers in the fields of tables. Only this file decides which texts are numbers, so csv_columns(), which guesses the
/// types of columns, and the readers of these columns agree. Also makes hints for fields that are no numbers.
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

/// Reads a whole number with a point or an exponent ("70.0", "7e1"), as programs that have no integer type write it. The
/// number is computed from its digits, not through double, which would take neighbours beyond 2^53 for one number. Nothing
/// if the text is no number, has a fraction ("70.5", "1e-400"), or int64 does not hold it.
std::optional<int64_t> whole_number(std::string_view text);

/// Whether `text` is a decimal number that is not whole. Like whole_number(), it goes by the digits.
bool has_fraction(std::string_view text);

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
    if (const auto number = number_from<T>(digits)) return number;
    const auto whole = whole_number(digits);
    return whole && std::in_range<T>(*whole) ? std::optional<T>(T(*whole)) : std::nullopt;
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
