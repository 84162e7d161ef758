// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Selects variables by their names.
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// A regular expression (POSIX extended, regex(7)) that has to match a whole name: "dnn/.*", ".*/kernel", "dnn/logits/bias".
/// "!logits/.*" matches all names but those that "logits/.*" matches. A dot matches any byte. What Python reads in another
/// way ("\d", "(?:") is refused. A value type.
class NamePattern {
 public:
  /// InvalidArgument, with what to write instead, if `text` is not such an expression.
  static Result<NamePattern> make(std::string text);
  bool matches(std::string_view name) const;
  /// True if the expression, without a "!" before it, matches the name. A pattern whose expression matches no name of a model
  /// is a mistake, also if it begins with "!": such a pattern leaves out nothing.
  bool names(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  struct Compiled;
  NamePattern(std::string text, std::shared_ptr<const Compiled> compiled);
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace shoal
