// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the machine itself can do between two threads: the limits that transports are held against, in the same run.
#include <cstddef>
#include <cstdint>

#include "pair.h"

namespace shoal::bench {

/// One word there and back through shared memory. `spin`: both look for it all the time; else both sleep in a futex.
Exchange futex_round_trips(int64_t count, bool spin);
/// `bytes` there and back over blocking TCP sockets on 127.0.0.1, without Nagle's delay.
Exchange socket_round_trips(size_t bytes, int64_t count);
/// `count` times `bytes` over such a socket; with `touch` filled before and read after, as Pair::stream does.
Exchange socket_stream(size_t bytes, int64_t count, bool touch);
/// `bytes` of floats to a process of its own, which adds them to its own and sends the sum back, over such a socket. Forks,
/// so no other thread may run.
Exchange socket_push_pull(size_t bytes, int64_t count);
/// What socket_stream does, through `slots` pieces of shared memory that are handed over by a counter each way: filled,
/// handed over, read.
Exchange hand_over(size_t bytes, int64_t count, size_t slots);
/// Seconds for a memcpy of `bytes`, source and target warm where they fit a cache.
double copy_seconds(size_t bytes);

}  // namespace shoal::bench
