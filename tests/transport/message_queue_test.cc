// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/message_queue.h"

#include <gtest/gtest.h>

#include <deque>

#include "shoal/base/random.h"

namespace shoal::transport {
namespace {

Message of_bytes(uint64_t number, size_t body_bytes) {
  Message message;
  message.head.sequence = number;
  if (body_bytes != 0) message.body = Buffer::allocate(body_bytes);
  return message;
}

TEST(MessageQueue, BehavesLikeADeque) {
  const uint64_t seed = 7;
  RandomStream random(seed);
  MessageQueue queue;
  std::deque<std::pair<uint64_t, size_t>> expected;
  uint64_t next = 1;
  uint64_t bytes = 0;
  for (int i = 0; i < 20000; ++i) {
    // Pushes prevail for a while, then pops: the ring grows, wraps and empties.
    if (random.below(100) < ((i / 1000) % 2 ? 35u : 65u)) {
      const size_t size = random.below(3) * 64;
      queue.push(of_bytes(next, size));
      expected.emplace_back(next++, size);
      bytes += size + 96;
    } else if (!expected.empty()) {
      const Message message = queue.pop();
      EXPECT_EQ(message.head.sequence, expected.front().first) << "seed " << seed;
      EXPECT_EQ(message.body_bytes(), expected.front().second);
      bytes -= expected.front().second + 96;
      expected.pop_front();
    }
    ASSERT_EQ(queue.size(), expected.size());
    ASSERT_EQ(queue.empty(), expected.empty());
    ASSERT_EQ(queue.bytes(), bytes);
  }
}

TEST(MessageQueue, DropsTheBodyWhenPopped) {
  MessageQueue queue;
  queue.push(of_bytes(1, 64));
  Message message = queue.pop();
  EXPECT_TRUE(message.body->unique());
}

}  // namespace
}  // namespace shoal::transport
