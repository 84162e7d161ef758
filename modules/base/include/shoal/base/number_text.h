// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers from text: decimal, a minus for those of signed types; no plus, no blanks, no locale.
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace shoal {

/// All of `text` as a T. Nothing if it is empty, has anything else in it, or is a number that T does not hold.
template <class T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The same for whole numbers, but where T does not hold it, the end of T's range that it lies beyond.
template <class T>
std::optional<T> clamped_number_from(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc()) return value;
  return text.front() == '-' ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

}  // namespace shoal
