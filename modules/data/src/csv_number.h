#pragma once
/// Numbers as the fields of tables have them, and what helps where a field is none.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "shoal/base/dtype.h"
#include "shoal/base/number_text.h"

namespace shoal::data {

/// A whole number in the notation of numbers with fractions, which programs write that know no other: "70.0", "7e1".
template <class T>
std::optional<T> whole_number(std::string_view field) {
  const size_t point = field.find('.');
  const bool no_fraction =
      point != std::string_view::npos && point > 0 && field.find_first_not_of('0', point + 1) == std::string_view::npos;
  if (no_fraction) return number_from<T>(field.substr(0, point));
  constexpr double kExactMax = 9007199254740992;  // 2^53: up to it, a double is one whole number and no other.
  const auto number = number_from<double>(field);
  if (!number || std::trunc(*number) != *number || std::abs(*number) > kExactMax) return std::nullopt;
  const auto whole = int64_t(*number);
  return std::in_range<T>(whole) ? std::optional<T>(T(whole)) : std::nullopt;
}

/// All of `field` as a T. People write a plus, too.
template <class T>
std::optional<T> field_number(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  auto number = number_from<T>(field);
  if constexpr (std::is_integral_v<T>) {
    if (!number) number = whole_number<T>(field);
  }
  return number;
}

/// The end of an error about a `field` that is no number of `dtype`: "; ..." with what helps, or nothing if its look tells nothing.
std::string number_hint(std::string_view field, DType dtype);

}  // namespace shoal::data
