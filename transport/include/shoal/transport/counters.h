// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For implementers of a transport: the counters behind TransportStats.
#include <atomic>

#include "shoal/transport/transport.h"

namespace shoal::transport {

/// Thread-safe.
struct Counters {
  std::atomic<uint64_t> messages_sent{0}, messages_received{0}, bytes_sent{0}, bytes_received{0}, bytes_copied{0};
  TransportStats stats() const { return {messages_sent, messages_received, bytes_sent, bytes_received, bytes_copied}; }
};

}  // namespace shoal::transport
