// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The names of what can be chosen by name, for errors.
#include <string>

namespace shoal {

/// "age, rooms" for pairs of names and things; "one without a name" for a lone thing whose name is empty; "none".
template <class Entries>
std::string names_text(const Entries& entries) {
  if (entries.empty()) return "none";
  if (entries.size() == 1 && entries.begin()->first.empty()) return "one without a name";
  std::string text;
  for (const auto& [name, entry] : entries) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace shoal
