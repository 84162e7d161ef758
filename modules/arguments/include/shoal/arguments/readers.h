// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions that read and check the texts of arguments. The sentences of their errors follow "--name: ".
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/base/format.h"
#include "shoal/base/number_text.h"
#include "shoal/base/result.h"

namespace shoal::arguments {

/// Takes the text of an argument, or checks it.
using Take = std::function<Result<void>(const std::string& text)>;

/// true, on, yes and 1, or false, off, no and 0, in small or capital letters.
Result<bool> read_switch(const std::string& text);
/// A number of bytes: a whole number, and a unit or none. kB, MB, ... are powers of 1000; KiB, MiB, ... of 1024.
Result<int64_t> read_bytes(const std::string& text);

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// InvalidArgument "x is no INT" (or NUMBER), also for a number that T cannot hold. Texts are what they are.
template <class T>
Result<T> read_as(const std::string& text) {
  if constexpr (std::same_as<T, bool>) {
    return read_switch(text);
  } else if constexpr (kIsNumber<T>) {
    if (const std::optional<T> number = number_from<T>(text)) return *number;
    return invalid_argument(text + (std::integral<T> ? " is no INT" : " is no NUMBER"));
  } else {
    return T(text);
  }
}

/// How a number or text that an argument may change is written in the help.
template <class T>
std::string text_of(const T& value) {
  if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else if constexpr (std::floating_point<T>) {
    return formatted("%g", double(value));
  } else {
    return std::string(value);
  }
}

/// Checks. Each refuses with InvalidArgument.
Result<void> check_positive(const std::string& text);
/// Refuses the empty text. Argument::path() adds this check.
Result<void> check_path_is_given(const std::string& text);
Take in_range(double least, double most);
Take at_least(double least);
/// A text that is not among `names` is refused with a proposal.
Take one_of(std::vector<std::string> names);
/// Stores in `variable` what `read` makes of the text.
template <class T, class Read>
Take stores(T& variable, Read read) {
  return [&variable, read = std::move(read)](const std::string& text) -> Result<void> {
    SHOAL_TRY(variable, read(text));
    return {};
  };
}
/// Stores the choice of that name in `variable`; refuses other names with a proposal.
template <class T, class Value>
Take stores_choice(T& variable, std::vector<std::pair<std::string, Value>> choices) {
  return [&variable, choices = std::move(choices)](const std::string& text) -> Result<void> {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
      if (name == text) return variable = value, Result<void>();
      names.push_back(name);
    }
    return one_of(std::move(names))(text);
  };
}

}  // namespace shoal::arguments
