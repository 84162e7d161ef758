// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads numbers from text: decimal, with a minus sign for signed types; no plus sign, no blanks, no locale.
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace shoal {

/// Reads all of `text` as one number. Nothing if `text` is empty, is no number, or the number is outside of T's range.
template <class T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// As number_from(), for whole numbers. A number outside of T's range gives the nearest number of that range.
template <class T>
std::optional<T> clamped_number_from(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc()) return value;
  return text.front() == '-' ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

}  // namespace shoal
