// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/identity.h"

#include "job/identity_lines.h"

namespace shoal::cluster {
namespace {

/// Returns the name of a task that `others` lists and `lines` does not; empty if there is none. Also empty if `lines` was
/// cut short, since the tasks that were cut off are unknown.
std::string_view task_missing(const IdentityLines& lines, const IdentityLines& others) {
  if (lines.contains(kMoreLines)) return {};
  for (const auto& [task, address] : others) {
    if (task != kMoreLines && !lines.contains(task)) return task;
  }
  return {};
}

}  // namespace

std::string job_text(const ClusterSpec& cluster) {
  std::string text;
  for (const auto& [role, nodes] : cluster.roles()) {
    for (const ClusterSpec::Node& node : nodes)
      text += role + " " + std::to_string(node.index) + ": " + node.address + "\n";
  }
  return bounded_lines(std::move(text));
}

std::string job_difference(std::string_view text, const std::string& owner, std::string_view other_text,
                           const std::string& other_owner) {
  const auto lines = identity_lines(text), other_lines = identity_lines(other_text);
  for (const auto& [task, address] : lines) {
    const auto found = other_lines.find(task);
    if (task == kMoreLines || found == other_lines.end() || found->second == address) continue;
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

}  // namespace shoal::cluster
