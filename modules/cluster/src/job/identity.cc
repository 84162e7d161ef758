#include "shoal/cluster/identity.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "shoal/base/random.h"

namespace shoal::cluster {
namespace {

constexpr std::string_view kMore = "and more";  // the line of the hash

/// Whole lines, as many as fit, and what tells the rest apart.
std::string bounded(std::string text) {
  if (text.size() <= kIdentityBytesMax) return text;
  char rest[48];
  std::snprintf(rest, sizeof rest, "%s: %016llx\n", kMore.data(), static_cast<unsigned long long>(fold_in(0, text)));
  text.resize(text.rfind('\n', kIdentityBytesMax - sizeof rest) + 1);
  return text + rest;
}

using Lines = std::map<std::string_view, std::string_view>;

/// "name: value" lines; others come with an empty value.
Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t colon = std::min(line.find(": "), line.size());
    lines[line.substr(0, colon)] = colon == line.size() ? std::string_view() : line.substr(colon + 2);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// A task of `others` that is not in `lines`, empty if there is none. A list that was cut short says nothing of what it
/// lacks.
std::string_view task_missing(const Lines& lines, const Lines& others) {
  if (lines.contains(kMore)) return {};
  for (const auto& [task, address] : others) {
    if (task != kMore && !lines.contains(task)) return task;
  }
  return {};
}

std::string value_of(const VariableSpec& variable) {
  return std::string(to_string(variable.dtype)) + " " + to_string(variable.shape);
}

}  // namespace

std::string job_text(const ClusterSpec& cluster) {
  std::string text;
  for (const auto& [role, nodes] : cluster.roles()) {
    for (const ClusterSpec::Node& node : nodes)
      text += role + " " + std::to_string(node.index) + ": " + node.address + "\n";
  }
  return bounded(std::move(text));
}

std::string variables_text(std::vector<VariableSpec> variables) {
  std::sort(variables.begin(), variables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string text;
  for (const VariableSpec& variable : variables) text += variable.name + ": " + value_of(variable) + "\n";
  return bounded(std::move(text));
}

std::string job_difference(std::string_view text, const std::string& owner, std::string_view other_text,
                           const std::string& other_owner) {
  const auto lines = lines_of(text), other_lines = lines_of(other_text);
  for (const auto& [task, address] : lines) {
    const auto found = other_lines.find(task);
    if (task == kMore || found == other_lines.end() || found->second == address) continue;
    return std::string(task) + " is " + std::string(address) + " for " + owner + " and " + std::string(found->second) +
           " for " + other_owner;
  }
  const std::string_view task = task_missing(other_lines, lines), other_task = task_missing(lines, other_lines);
  if (!task.empty()) {
    return "the cluster of " + owner + " has " + std::string(task) + ", that of " + other_owner + " has not";
  }
  if (!other_task.empty()) {
    return "the cluster of " + other_owner + " has " + std::string(other_task) + ", that of " + owner + " has not";
  }
  return "the clusters of " + owner + " and " + other_owner + " differ in one of their many tasks";
}

std::string variables_difference(std::string_view text, const std::string& owner, const ShardSpec& held,
                                 const std::string& server) {
  const auto lines = lines_of(text);
  for (const Segment& segment : held.segments) {
    const auto found = lines.find(segment.variable.name);
    const std::string value = value_of(segment.variable);
    if (found != lines.end() && found->second != value) {
      return "variable " + segment.variable.name + " is " + std::string(found->second) + " in the model of " + owner +
             " and " + value + " on " + server;
    }
    if (found == lines.end() && !lines.contains(kMore)) {
      return "the model of " + owner + " has no variable " + segment.variable.name + ", which is on " + server;
    }
  }
  return {};
}

}  // namespace shoal::cluster
