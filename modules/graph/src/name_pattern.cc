#include "shoal/graph/name_pattern.h"

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
    return invalid_argument("\"" + text + "\" is no regular expression: " + error.what());
  }
}

bool NamePattern::matches(std::string_view name) const {
  return std::regex_match(name.begin(), name.end(), compiled_->regex);
}

}  // namespace shoal
