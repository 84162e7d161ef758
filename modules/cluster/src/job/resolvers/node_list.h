// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two texts in which Slurm writes many of something in short.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::cluster {

/// Limits, beyond which there is an error: this many nodes, and characters of all their names.
inline constexpr size_t kNodesMax = 100'000;
inline constexpr size_t kNodeNamesBytesMax = size_t(16) << 20;

/// "n[1-3,07],login,r[0-1]n[08-10]b": names, each with ranges in brackets at any number of places, the last of which
/// counts first, as digits do; what has leading zeros keeps its width. InvalidArgument saying where the text makes no
/// sense.
Result<std::vector<std::string>> parse_node_list(std::string_view text);

/// "5,4(x3)" is 5, 4, 4, 4: tasks on each node. InvalidArgument as above.
Result<std::vector<int32_t>> parse_task_counts(std::string_view text);

}  // namespace shoal::cluster
