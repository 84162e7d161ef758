// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Variables chosen by their names.
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// A regular expression (ECMAScript) that a whole name has to match: "dnn/.*", ".*/kernel", "dnn/logits/bias". A value.
class NamePattern {
 public:
  /// InvalidArgument for a text that is no regular expression.
  static Result<NamePattern> make(std::string text);
  bool matches(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  struct Compiled;
  NamePattern(std::string text, std::shared_ptr<const Compiled> compiled);
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace shoal
