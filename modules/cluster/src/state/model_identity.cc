#include "shoal/cluster/model_identity.h"

#include <algorithm>

#include "job/identity_lines.h"

namespace shoal::cluster {
namespace {

std::string value_of(const VariableSpec& variable) {
  return std::string(to_string(variable.dtype)) + " " + to_string(variable.shape);
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

}  // namespace shoal::cluster
