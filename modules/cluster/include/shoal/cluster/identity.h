#pragma once
/// What the tasks of one job must have alike, as text: peers compare it byte for byte when they connect (CONTRACT DI-4),
/// and where it differs they can say in words what does.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/shard_plan.h"

namespace shoal::cluster {

/// Longest text; of anything longer the first lines and a hash of all of it are kept.
inline constexpr size_t kIdentityBytesMax = 4096;

/// One line per task: "ps 1: host:2222".
std::string job_text(const ClusterSpec& cluster);
/// One line per variable, by name: "dense/kernel: float32 [784, 10]".
std::string variables_text(std::vector<VariableSpec> variables);

/// The first thing that two job texts disagree on, in words: "ps 1 is host4:2222 for worker 0 and host5:2222 for ps 0".
/// Where a text was cut short, no task is said to be missing from it.
std::string job_difference(std::string_view text, const std::string& owner, std::string_view other_text,
                           const std::string& other_owner);
/// The same for the variables of a model (of `owner`) and those of them that a server holds. Empty if there is none
/// among those that the server holds.
std::string variables_difference(std::string_view text, const std::string& owner, const ShardSpec& held,
                                 const std::string& server);

}  // namespace shoal::cluster
