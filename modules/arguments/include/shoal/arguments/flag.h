// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One flag of a command line: what sets it, what is refused, and what the help says.
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/number_text.h"
#include "shoal/base/result.h"

namespace shoal::arguments {

/// Takes the text of a flag's value. The sentence of an error follows "--name: ".
using Take = std::function<Result<void>(const std::string& text)>;

/// InvalidArgument "x is no INT" (or NUMBER), also for a number that T cannot hold.
template <class T>
Result<T> read_number(const std::string& text) {
  if (const std::optional<T> number = number_from<T>(text)) return *number;
  return invalid_argument(text + (std::integral<T> ? " is no INT" : " is no NUMBER"));
}
/// InvalidArgument for a number below `least`, which is no NUMBER or INT of that kind.
template <class T>
Result<T> read_number_from(T least, const std::string& text) {
  SHOAL_TRY(const T number, read_number<T>(text));
  if (number < least) return invalid_argument(text + " is less than " + std::to_string(least));
  return number;
}
/// As read_number(), for numbers above zero.
template <class T>
Result<T> read_positive(const std::string& text) {
  SHOAL_TRY(const T number, read_number<T>(text));
  if (!(number > 0)) return invalid_argument(text + " is no positive number");
  return number;
}
/// true, on, yes and 1, or false, off, no and 0, in small or capital letters.
Result<bool> read_switch(const std::string& text);
/// A number of bytes: a whole number, and a unit or none. kB, MB, ... are powers of 1000; KiB, MiB, ... of 1024.
Result<int64_t> read_bytes(const std::string& text);
/// InvalidArgument, with a proposal, for a text that is not among `names`.
Result<std::string> read_one_of(const std::vector<std::string>& names, const std::string& text);

/// A Take that stores what `read` makes of the text in `variable`.
template <class T, class Read>
Take stores(T& variable, Read read) {
  return [&variable, read = std::move(read)](const std::string& text) -> Result<void> {
    SHOAL_TRY(variable, read(text));
    return {};
  };
}
/// A Take that stores the text itself.
template <class T>
Take stores_text(T& variable) {
  return [&variable](const std::string& text) -> Result<void> {
    variable = text;
    return {};
  };
}

/// "a, b, c"
std::string comma_separated(const std::vector<std::string>& texts);

struct Flag {
  std::string name;  ///< Without the dashes: "model-dir".
  /// Switches only: a second name, which turns off ("no-shuffle"). Empty: none.
  std::string off_name = {};
  /// What the help shows for the value: "INT", "FILE". Empty: a switch, which has a value only behind "=", and whose text
  /// without one is "true".
  std::string type = {};
  std::string help = {};
  std::string otherwise = {};              ///< The default, as the help shows it. Empty: it shows none.
  std::string variable = {};               ///< The environment variable that stands for the flag where it is not given.
  std::vector<std::string> excludes = {};  ///< Names of flags beside which this one is refused.
  bool hidden = false;                     ///< True: the help does not show the flag.
  Take take = {};                          ///< Required.

  bool is_switch() const { return type.empty(); }
};

}  // namespace shoal::arguments
