// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/name_pattern.h"

// The C library's expressions, not std::regex: the latter needs std::locale, which adds 0.4 MB to a static program, and
// its depth of recursion grows with the length of the name.
#include <regex.h>

#include <utility>

#include "shoal/base/exhaustion.h"
#include "shoal/base/format.h"

namespace shoal {
namespace {

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns the position of the "]" that ends the list of characters after the "[" at `begin`, or npos. Between them, "]"
/// stands for itself as the first character, and in "[:alpha:]" it ends the class.
size_t end_of_list(std::string_view text, size_t begin) {
  size_t at = begin + 1;
  if (at < text.size() && text[at] == '^') ++at;
  if (at < text.size() && text[at] == ']') ++at;
  for (; at < text.size() && text[at] != ']'; ++at) {
    if (text[at] != '[' || at + 1 >= text.size() || std::string_view(":.=").find(text[at + 1]) == std::string_view::npos)
      continue;
    const size_t end = text.find(std::string{text[at + 1], ']'}, at + 2);
    if (end == std::string_view::npos) return end;
    at = end + 1;
  }
  return at < text.size() ? at : std::string_view::npos;
}

/// If Python or ECMAScript reads a part of `text` in another way than POSIX does, returns a sentence that names this part
/// and says what to write instead; else an empty text. Without this check, "layer\d" would select "layerd".
std::string read_otherwise(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') {
      const size_t end = end_of_list(text, at);
      if (end == std::string_view::npos) return "";  // regcomp() refuses it.
      if (text.substr(at, end - at).find('\\') != std::string_view::npos)
        return "a backslash between [ and ] stands for itself; write [.] for [\\.], and [0-9] for [\\d]";
      at = end;
    } else if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
      if (is_letter_or_digit(text[at]))
        return "\"\\" + std::string(1, text[at]) +
               "\" has no meaning, since a backslash may only stand before a punctuation mark; write [0-9] for a digit, "
               "and [A-Za-z0-9_] for a letter, a digit or _";
    } else if (text.substr(at, 2) == "(?") {
      return "\"(?\" has no meaning; a group begins with (, and a pattern for all names but some with !, as in "
             "\"!logits/.*\"";
    }
  }
  return "";
}

}  // namespace

struct NamePattern::Compiled {
  Compiled() = default;
  ~Compiled() {
    if (status == 0) ::regfree(&regex);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  regex_t regex{};
  bool negated = false;
  int status = -1;  // What regcomp() returned; 0: `regex` is usable.
};

NamePattern::NamePattern(std::string text, std::shared_ptr<const Compiled> compiled)
    : text_(std::move(text)), compiled_(std::move(compiled)) {}

Result<NamePattern> NamePattern::make(std::string text) {
  const auto refused = [&text](const std::string& why) {
    return invalid_argument("\"" + text + "\" is not a regular expression (POSIX extended): " + why);
  };
  if (text.find('\0') != std::string::npos) return refused("it has a character with the code 0");
  if (const std::string why = read_otherwise(text); !why.empty()) return refused(why);
  if (text == "!" || text.starts_with("!!")) return refused("a pattern for all names but some is one ! and an expression");
  const PlainLocale plain;  // Else the ranges of characters, and the error, would be those of the process's locale.
  const auto compiled = std::make_shared<Compiled>();
  compiled->negated = text.starts_with('!');
  compiled->status = ::regcomp(&compiled->regex, text.c_str() + (compiled->negated ? 1 : 0), REG_EXTENDED);
  if (compiled->status == 0) return NamePattern(std::move(text), compiled);
  char why[256];
  ::regerror(compiled->status, &compiled->regex, why, sizeof why);
  return refused(why);
}

bool NamePattern::matches(std::string_view name) const { return names(name) != compiled_->negated; }

bool NamePattern::names(std::string_view name) const {
  if (name.find('\0') != std::string_view::npos) return false;  // regexec() would end the name there.
  const PlainLocale plain;
  // Of all matches regexec() gives the one that begins first, and of these the longest: the whole name, if that matches.
  regmatch_t match{};
  const int status = ::regexec(&compiled_->regex, std::string(name).c_str(), 1, &match, 0);
  if (status == REG_ESPACE) raise_exhausted(no_memory(name.size(), "comparing a name with \"" + text_ + "\""));
  return status == 0 && match.rm_so == 0 && size_t(match.rm_eo) == name.size();
}

}  // namespace shoal
