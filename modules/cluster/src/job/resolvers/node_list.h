// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Parsers for Slurm's two abbreviated lists: names of nodes, and numbers of tasks per node.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::cluster {

/// Limits on the number of nodes and on the characters of all their names; beyond them there is an error.
inline constexpr size_t kNodesMax = 100'000;
inline constexpr size_t kNodeNamesBytesMax = size_t(16) << 20;

/// Expands "n[1-3,07],login,r[0-1]n[08-10]b". A name may have several ranges; the last one varies fastest, and numbers
/// with leading zeros keep their width. InvalidArgument says at which character the text is wrong.
Result<std::vector<std::string>> parse_node_list(std::string_view text);

/// Expands "5,4(x3)" to 5, 4, 4, 4: the number of tasks on each node. InvalidArgument as for parse_node_list().
Result<std::vector<int32_t>> parse_task_counts(std::string_view text);

}  // namespace shoal::cluster
