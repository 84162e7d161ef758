// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/model_identity.h"

#include <algorithm>
#include <cstdio>

#include "job/identity_lines.h"

namespace shoal::cluster {
namespace {

std::string value_of(const VariableSpec& variable) {
  return std::string(to_string(variable.dtype)) + " " + to_string(variable.shape);
}

/// Replaces line breaks in names of features, since each feature's text has to be one line.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

std::string variables_text(std::vector<VariableSpec> variables) {
  std::sort(variables.begin(), variables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string text;
  for (const VariableSpec& variable : variables) text += variable.name + ": " + value_of(variable) + "\n";
  return bounded_lines(std::move(text));
}

std::string variables_difference(std::string_view text, const std::string& owner, const ShardSpec& held,
                                 const std::string& server) {
  const auto lines = identity_lines(text);
  for (const Segment& segment : held.segments) {
    const auto found = lines.find(segment.variable.name);
    const std::string value = value_of(segment.variable);
    if (found != lines.end() && found->second != value) {
      return "variable " + segment.variable.name + " is " + std::string(found->second) + " in the model of " + owner +
             " and " + value + " on " + server;
    }
    if (found == lines.end() && !lines.contains(kMoreLines)) {
      return "the model of " + owner + " has no variable " + segment.variable.name + ", which is on " + server;
    }
  }
  return {};
}

std::string meaning_text(const Meaning& meaning, const std::map<std::string, std::string>& rules) {
  std::string text;
  for (const auto& [key, facts] : meaning.facts()) {
    Meaning one;
    std::string listed;
    for (const MeaningFact& fact : facts) {
      listed += (listed.empty() ? "" : " and ") + to_string(fact);
      one.add(key, fact);
    }
    char hash[24];  // A hash of all facts about this subject, since `listed` leaves out items of long lists.
    std::snprintf(hash, sizeof hash, " #%016llx", static_cast<unsigned long long>(one.hash()));
    text += in_one_line(meaning_subject(key) + ": " + listed) + hash + "\n";
  }
  for (const auto& [name, value] : rules) text += in_one_line(name + ": " + value) + "\n";
  return bounded_lines(std::move(text));
}

std::string meaning_text_difference(std::string_view text, const std::string& owner, std::string_view other_text,
                                    const std::string& other_owner) {
  if (text.empty() || other_text.empty()) return {};  // Older versions of Shoal send no text.
  const auto lines = identity_lines(text), other_lines = identity_lines(other_text);
  for (const auto& [subject, value] : lines) {
    const auto found = other_lines.find(subject);
    if (subject == kMoreLines || found == other_lines.end() || found->second == value) continue;
    return std::string(subject) + " is " + std::string(value) + " for " + owner + " and " + std::string(found->second) +
           " for " + other_owner;
  }
  const auto missing = [](const IdentityLines& in, const IdentityLines& from) -> std::string_view {
    for (const auto& [subject, value] : in) {
      if (!from.contains(subject) && !from.contains(kMoreLines) && subject != kMoreLines) return subject;
    }
    return {};
  };
  if (const std::string_view only = missing(lines, other_lines); !only.empty()) {
    return owner + " has " + std::string(only) + ", and " + other_owner + " has not";
  }
  if (const std::string_view only = missing(other_lines, lines); !only.empty()) {
    return other_owner + " has " + std::string(only) + ", and " + owner + " has not";
  }
  return {};
}

}  // namespace shoal::cluster
