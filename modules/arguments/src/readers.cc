// SPDX-License-Identifier: Apache-2.0
#include "shoal/arguments/readers.h"

#include <algorithm>
#include <limits>

#include "shoal/base/names_text.h"
#include "shoal/base/nearest_text.h"

namespace shoal::arguments {
namespace {

/// ASCII letters only, the same in every locale.
std::string in_small_letters(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return text;
}

/// The factor of a unit in small letters ("mib"); nothing for another text.
std::optional<int64_t> factor_of(std::string_view unit) {
  if (unit.empty() || unit == "b") return 1;
  const size_t power = std::string_view("kmgtpe").find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  const bool of_two = rest == "i" || rest == "ib";
  if (!of_two && !rest.empty() && rest != "b") return std::nullopt;
  int64_t factor = 1;
  for (size_t i = 0; i <= power; ++i) factor *= of_two ? 1024 : 1000;
  return factor;
}

}  // namespace

Result<bool> read_switch(const std::string& text) {
  const std::string small = in_small_letters(text);
  for (const char* on : {"true", "on", "yes", "1"}) {
    if (small == on) return true;
  }
  for (const char* off : {"false", "off", "no", "0"}) {
    if (small == off) return false;
  }
  return invalid_argument("\"" + text + "\" is neither true nor false");
}

Result<int64_t> read_bytes(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
  const std::optional<int64_t> factor = factor_of(in_small_letters(text.substr(unit)));
  if (digits == 0 || !factor)
    return invalid_argument("\"" + text + "\" is no number of bytes; write for example 200MiB, 2GB or 100000");
  const std::optional<int64_t> number = number_from<int64_t>(std::string_view(text).substr(0, digits));
  if (!number || *number > std::numeric_limits<int64_t>::max() / *factor)
    return invalid_argument(text + " is more than 64 bits can count");
  return *number * *factor;
}

Result<void> check_positive(const std::string& text) {
  const std::optional<double> number = number_from<double>(text);
  if (!number || !(*number > 0)) return invalid_argument(text + " is no positive number");
  return {};
}

Result<void> check_path_is_given(const std::string& text) {
  if (text.empty()) return invalid_argument("is the empty string; give a path");
  return {};
}

Take in_range(double least, double most) {
  return [least, most](const std::string& text) -> Result<void> {
    const std::optional<double> number = number_from<double>(text);
    if (number && *number >= least && *number <= most) return {};
    return invalid_argument(text + formatted(" is not in the range from %.17g to %.17g", least, most));
  };
}

Take at_least(double least) {
  return [least](const std::string& text) -> Result<void> {
    const std::optional<double> number = number_from<double>(text);
    if (number && *number >= least) return {};
    return invalid_argument(text + formatted(" is less than %.17g", least));
  };
}

Take one_of(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& text) -> Result<void> {
    if (std::find(names.begin(), names.end(), text) != names.end()) return {};
    return invalid_argument(text + " is none of " + comma_separated(names) + did_you_mean(text, names));
  };
}

}  // namespace shoal::arguments
