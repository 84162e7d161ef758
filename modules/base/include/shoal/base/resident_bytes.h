// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How much memory this process has at the moment.
#include <cstdint>

namespace shoal {

/// The bytes of this process that are in memory now: its resident set, after the C library has given back what it can. Where /proc is
/// not mounted, the most that it ever had. 0: the system tells neither.
uint64_t resident_bytes();

}  // namespace shoal
