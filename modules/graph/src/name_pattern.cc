// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/name_pattern.h"

#include <algorithm>
#include <regex>

namespace shoal {

struct NamePattern::Compiled {
  std::regex regex;
};

NamePattern::NamePattern(std::string text, std::shared_ptr<const Compiled> compiled)
    : text_(std::move(text)), compiled_(std::move(compiled)) {}

Result<NamePattern> NamePattern::make(std::string text) {
  try {
    auto compiled = std::make_shared<const Compiled>(Compiled{std::regex(text)});
    return NamePattern(std::move(text), std::move(compiled));
  } catch (const std::regex_error& error) {
    return invalid_argument("\"" + text + "\" is not a regular expression: " + error.what());
  }
}

/// A name may contain line breaks (from a column's name), but a dot in an ECMAScript expression does not match them. So if
/// a name does not match, tries it again with blanks in place of its line breaks.
bool NamePattern::matches(std::string_view name) const {
  if (std::regex_match(name.begin(), name.end(), compiled_->regex)) return true;
  std::string in_one_line(name);
  std::ranges::replace_if(
      in_one_line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return in_one_line != name && std::regex_match(in_one_line, compiled_->regex);
}

}  // namespace shoal
