// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the child process of the tests does.
#include <cstddef>

namespace shoal::transport {

/// Connects, sends a message of kHeldBytes, then keeps every message that it gets, with a word for each, until it is killed.
int holding_peer(const char* endpoint);
inline constexpr size_t kHeldBytes = size_t(2) << 20;

}  // namespace shoal::transport
