// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For implementers of a transport: a queue of messages that counts their bytes.
#include <cstdint>
#include <utility>
#include <vector>

#include "shoal/base/check.h"
#include "shoal/transport/message.h"

namespace shoal::transport {

/// A FIFO of messages that knows its size in bytes. The messages lie in a ring, which grows to the largest number ever
/// queued and is then reused, so that steady traffic allocates nothing. Not thread-safe.
class MessageQueue {
 public:
  /// How many bytes of the queue's limit a message takes: those of its body, and those of its head as it is sent. So the
  /// limit also bounds the number of empty messages.
  static uint64_t cost(const Message& message) { return message.body_bytes() + 96; }

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  uint64_t bytes() const { return bytes_; }
  void push(Message message) {
    if (count_ == ring_.size()) grow();
    bytes_ += cost(message);
    ring_[(first_ + count_++) & (ring_.size() - 1)] = std::move(message);
  }
  Message pop() {
    SHOAL_DCHECK(count_ != 0);
    Message message = std::move(ring_[first_]);
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
    bytes_ -= cost(message);
    return message;
  }
  void clear() { *this = MessageQueue(); }

 private:
  void grow() {
    std::vector<Message> larger(ring_.empty() ? 8 : ring_.size() * 2);  // The size is always a power of two.
    for (size_t i = 0; i < count_; ++i) larger[i] = std::move(ring_[(first_ + i) & (ring_.size() - 1)]);
    ring_ = std::move(larger);
    first_ = 0;
  }
  std::vector<Message> ring_;
  size_t first_ = 0;
  size_t count_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace shoal::transport
