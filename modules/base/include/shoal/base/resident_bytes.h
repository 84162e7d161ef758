// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that this process uses at the moment.
#include <cstdint>

namespace shoal {

/// The resident set of this process in bytes, after the C library has returned what it can to the system. If /proc is not
/// mounted, the largest resident set so far. 0: the system gives neither number.
uint64_t resident_bytes();

/// Gives freed memory of this process back to the operating system. Call it after work that took much memory: if a thread
/// frees memory, glibc keeps it for that thread, so other threads may not be able to use it.
void give_back_freed_memory();

/// Drops the pages of code that were read so far; pages that are needed again come from the page cache. Call it when a
/// program has started, since the start runs much code only once. An idle parameter server of a program with oneDNN and TLS
/// had 13.2 MB resident with this call and 16.4 MB without. Does nothing if /proc is not mounted.
void give_back_code();

}  // namespace shoal
