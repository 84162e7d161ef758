// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How often this test program has called operator new.

namespace shoal {

/// False under sanitizers, whose own operator new should stay, and which switch the cache of coroutine frames off.
bool allocations_are_counted();
long allocation_count();

}  // namespace shoal
