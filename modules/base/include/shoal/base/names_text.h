// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Lists the names of things that can be chosen by name, for errors.
#include <string>

namespace shoal {

/// "age, rooms" for the entries {"age", x} and {"rooms", y} of a map; "one without a name" for a single entry whose name is
/// empty; "none" for an empty map.
template <class Entries>
std::string names_text(const Entries& entries) {
  if (entries.empty()) return "none";
  if (entries.size() == 1 && entries.begin()->first.empty()) return "one without a name";
  std::string text;
  for (const auto& [name, entry] : entries) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace shoal
