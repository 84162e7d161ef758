// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The range from which tasks choose their own ports. It lies below the ephemeral ports, so that no outgoing connection
/// takes a task's port while the task restarts.
#include <cstdint>

namespace shoal::cluster {

inline constexpr uint64_t kQuietPortFirst = 20'000;
inline constexpr uint64_t kQuietPorts = 12'000;  ///< Tasks choose among this many ports, from kQuietPortFirst on.

}  // namespace shoal::cluster
