// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How much memory this process has at the moment.
#include <cstdint>

namespace shoal {

/// The bytes of this process that are in memory now: its resident set, after the C library has given back what it can. Where /proc is
/// not mounted, the most that it ever had. 0: the system tells neither.
uint64_t resident_bytes();

/// Gives memory that this process has freed back to the system. For the end of what took much: another thread may not be able to use it
/// otherwise, since glibc keeps what is freed apart by thread.
void give_back_freed_memory();

}  // namespace shoal
