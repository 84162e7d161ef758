// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ports that tasks choose for themselves: below those that systems give to outgoing connections, so that none of these
/// takes one while its task is away.
#include <cstdint>

namespace shoal::cluster {

inline constexpr uint64_t kQuietPortFirst = 20'000;
inline constexpr uint64_t kQuietPorts = 12'000;  ///< How many there are.

}  // namespace shoal::cluster
