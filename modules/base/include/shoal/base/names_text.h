// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Lists names and other texts, for errors and log lines.
#include <functional>
#include <string>
#include <string_view>

namespace shoal {

/// The texts of `items` with ", " between them: "age, rooms". `text_of` gives the text of an item; it may be a pointer to a
/// member.
template <class Items, class TextOf = std::identity>
std::string comma_separated(const Items& items, TextOf text_of = {}) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) text += ", ";
    is_first = false;
    text += std::string_view(std::invoke(text_of, item));
  }
  return text;
}

/// "age, rooms" for the entries {"age", x} and {"rooms", y} of a map; "one without a name" for a single entry whose name is
/// empty; "none" for an empty map.
template <class Entries>
std::string names_text(const Entries& entries) {
  if (entries.empty()) return "none";
  if (entries.size() == 1 && entries.begin()->first.empty()) return "one without a name";
  return comma_separated(entries, [](const auto& entry) -> const std::string& { return entry.first; });
}

}  // namespace shoal
