// SPDX-License-Identifier: Apache-2.0
/// Where messages lie, who copies them, and when their memory may be used again.
#include <algorithm>
#include <deque>

#include "meeting.h"

namespace shoal::transport {
namespace {

constexpr size_t kBytes = size_t(3) << 20;

bool all_are(std::span<const std::byte> bytes, uint64_t value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) { return byte == std::byte(value); });
}

TEST_F(Shm, WeightsAndChunksAreReadWhereTheyWereBuilt) {
  const auto receives = [&](Connection& link) -> Task<Done> {
    SHOAL_CO_TRY(const Message first, co_await link.receive(tasks.soon(server)));
    SHOAL_CO_TRY(const Weights weights, read_weights(first));
    EXPECT_EQ(weights.version, 7u);
    EXPECT_TRUE(weights.payload.size() == kBytes && all_are(weights.payload, 1));
    SHOAL_CO_TRY(const Message second, co_await link.receive(tasks.soon(server)));
    SHOAL_CO_TRY(const Chunk chunk, read_chunk(second));
    EXPECT_EQ(chunk.position, "position");
    EXPECT_THAT(chunk.scalars, testing::ElementsAre(0.5, 0.25));
    EXPECT_TRUE(chunk.payload.size() == kBytes && all_are(chunk.payload, 2));
    SHOAL_CO_TRY(const Message third, co_await link.receive(tasks.soon(server)));
    SHOAL_CO_TRY(const SnapshotPart part, read_snapshot_part(third));
    EXPECT_TRUE(part.payload.size() == 1000 && all_are(part.payload, 3));
    for (const auto& payload : {weights.payload, chunk.payload, part.payload}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(payload.data()) % kBufferAlignment, 0u);
      EXPECT_THAT(mapping_of(payload.data()), testing::AllOf(HasSubstr("memfd:shoal"), HasSubstr(" r--s ")));
    }
    // What was checked cannot change any more: it is this side's own.
    EXPECT_THAT(mapping_of(chunk.position.data()), HasSubstr(" rw-s "));
    co_return Done();
  };
  const auto sends = [&](Connection& link) -> Task<Done> {
    Message weights = weights_of(client, kBytes, 1);
    set_weights_version(weights, 7, 8);
    EXPECT_THAT(mapping_of(weights.payload().data()), testing::AllOf(HasSubstr("memfd:shoal"), HasSubstr(" rw-s ")));
    SHOAL_CO_TRY_VOID(co_await link.send(std::move(weights), tasks.soon(client)));
    const Chunk fields{.range_end = kBytes, .position = "position"};
    OutgoingChunk chunk = make_chunk(client.buffers(), fields, kBytes, 2);
    std::fill(chunk.payload.begin(), chunk.payload.end(), std::byte(2));
    chunk.scalars[0] = 0.5;
    chunk.scalars[1] = 0.25;
    SHOAL_CO_TRY_VOID(co_await link.send(std::move(chunk.message), tasks.soon(client)));
    const std::vector<std::byte> arena(1000, std::byte(3));
    const SnapshotPart fields_of_part{.name = "weights", .total_bytes = 1000, .payload = arena};
    Message part = make_snapshot_part(client.buffers(), fields_of_part);
    SHOAL_CO_TRY_VOID(co_await link.send(std::move(part), tasks.soon(client)));
    co_return co_await wait_for_end(link, tasks.soon(client));
  };
  meet(receives, sends);
  EXPECT_EQ(bytes_copied(), 0u);
}

TEST_F(Shm, WhatLiesElsewhereIsCopiedOnceAndCounted) {
  const auto ordinary = BufferPool::create();
  const auto receives = [&](Connection& link) -> Task<Done> {
    SHOAL_CO_TRY(const Message message, co_await link.receive(tasks.soon(server)));
    EXPECT_TRUE(message.payload().size() == kBytes && all_are(message.payload(), 9));
    co_return Done();
  };
  const auto sends = [&](Connection& link) -> Task<Done> {
    Message message = make_weights(*ordinary, kBytes);
    std::memset(mutable_payload(message).data(), 9, kBytes);
    SHOAL_CO_TRY_VOID(co_await link.send(std::move(message), tasks.soon(client)));
    co_return co_await wait_for_end(link, tasks.soon(client));
  };
  meet(receives, sends);
  EXPECT_EQ(bytes_copied(), kBytes);
}

TEST_F(Shm, WhatWasReceivedCanBePassedOn) {
  const auto echoes = [&](Connection& link) -> Task<Done> {
    for (int i = 0; i < 3; ++i) {
      SHOAL_CO_TRY(Message message, co_await link.receive(tasks.soon(server)));
      SHOAL_CO_TRY_VOID(co_await link.send(std::move(message), tasks.soon(server)));
    }
    co_return co_await wait_for_end(link, tasks.soon(server));
  };
  const auto sends = [&](Connection& link) -> Task<Done> {
    for (size_t bytes : {size_t(1), size_t(1000), kBytes}) {
      Message message = weights_of(client, bytes, 5);
      set_weights_version(message, bytes, 3);
      SHOAL_CO_TRY_VOID(co_await link.send(std::move(message), tasks.soon(client)));
      SHOAL_CO_TRY(const Message echo, co_await link.receive(tasks.soon(client)));
      SHOAL_CO_TRY(const Weights weights, read_weights(echo));
      EXPECT_EQ(weights.version, bytes);
      EXPECT_TRUE(weights.payload.size() == bytes && all_are(weights.payload, 5));
    }
    co_return Done();
  };
  meet(echoes, sends);
}

TEST_F(Shm, WhatIsReceivedIsNeverWritten) {
  const auto receives = [&](Connection& link) -> Task<Done> {
    SHOAL_CO_TRY(Message message, co_await link.receive(tasks.soon(server)));
    EXPECT_FALSE(message.body->unique());
    EXPECT_DEATH(mutable_payload(message), "broken invariant");
    co_return Done();
  };
  const auto sends = [&](Connection& link) -> Task<Done> {
    Message message = weights_of(client, kBytes, 1);
    SHOAL_CO_TRY_VOID(co_await link.send(std::move(message), tasks.soon(client)));
    co_return co_await wait_for_end(link, tasks.soon(client));
  };
  meet(receives, sends);
}

TEST_F(Shm, BuffersComeBackWhenTheReceiverDropsThem) {
  const auto receives = [&](Connection& link) -> Task<Done> {
    for (int i = 0; i < 20; ++i) {
      SHOAL_CO_TRY(Message message, co_await link.receive(tasks.soon(server)));
      // Dropped where large work is done, not on the strand.
      Work drops([held = std::move(message)]() mutable { held.body = {}; });
      SHOAL_CO_TRY_VOID(co_await server.offload(std::move(drops)));
    }
    co_return co_await wait_for_end(link, tasks.soon(server));
  };
  const auto sends = [&](Connection& link) -> Task<Done> {
    uint64_t fresh_count = 0;
    for (int i = 0; i < 20; ++i) {
      Message message = weights_of(client, kBytes, 1);
      if (i == 0) fresh_count = client.buffers().stats().fresh_count;
      SHOAL_CO_TRY_VOID(co_await link.send(std::move(message), tasks.soon(client)));
      // Nothing else is on its way that would wake this side: a large buffer that comes back does.
      const auto is_back = [this] { return client.buffers().stats().in_use_bytes == 0; };
      SHOAL_CO_TRY_VOID(co_await until(client, is_back));
    }
    EXPECT_EQ(client.buffers().stats().fresh_count, fresh_count);
    co_return Done();
  };
  meet(receives, sends);
  EXPECT_EQ(bytes_copied(), 0u);
}

TEST_F(Shm, TheNumberOfBuffersOutIsBoundedAndTheRestWaits) {
  constexpr uint64_t kCount = 1000;  // More than a peer may have at a time.
  const auto receives = [&](Connection& link) -> Task<Done> {
    std::deque<Message> held;
    for (uint64_t i = 1; i <= kCount; ++i) {
      SHOAL_CO_TRY(Message message, co_await link.receive(tasks.soon(server)));
      EXPECT_EQ(message.head.sequence, i);
      EXPECT_TRUE(all_are(message.payload(), i & 0xff));
      held.push_back(std::move(message));
      if (held.size() > 200) held.pop_front();
    }
    co_return Done();
  };
  const auto sends = [&](Connection& link) -> Task<Done> {
    for (uint64_t i = 1; i <= kCount; ++i) {
      Message message = weights_of(client, 5000, i);
      EXPECT_TRUE(link.try_send(message));
    }
    co_return co_await wait_for_end(link, tasks.soon(client));
  };
  meet(receives, sends);
  EXPECT_EQ(bytes_copied(), 0u);
}

TEST_F(Shm, WhatAPeerMayStillReadIsNotUsedAgain) {
  std::optional<Message> kept;
  std::atomic<bool> have = false;
  const auto receives = [&](Connection& link) -> Task<Done> {
    SHOAL_CO_TRY(kept, co_await link.receive(tasks.soon(server)));
    have = true;
    co_return Done();
  };
  const auto sends = [&](Connection& link) -> Task<Done> {
    Message message = weights_of(client, kBytes, 1);
    SHOAL_CO_TRY_VOID(co_await link.send(message, tasks.soon(client)));
    SHOAL_CO_TRY_VOID(co_await wait_for_end(link, tasks.soon(client)));
    const auto ended = [&] { return !message.body->unique() && have.load(); };
    SHOAL_CO_TRY_VOID(co_await until(client, ended));
    EXPECT_FALSE(message.body->unique());  // It is not, though nobody here holds it any more.
    message.body = {};
    for (int i = 0; i < 20; ++i) {
      Message other = weights_of(client, kBytes, uint64_t(2 + i));
      EXPECT_FALSE(all_are(other.payload(), 1));
    }
    co_return Done();
  };
  meet(receives, sends);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(all_are(kept->payload(), 1));
  EXPECT_EQ(client.buffers().stats().in_use_bytes, 0u);
}

TEST_F(Shm, MessagesOutliveBothTasks) {
  Message kept;
  {
    TwoTasks others{Setting{"shm"}};
    const auto listening = others.transport(others.server()).listen({"shm", "here:0"}, options);
    ASSERT_TRUE(listening);
    const auto serve = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Connected link, co_await (*listening)->accept(others.soon(others.server())));
      SHOAL_CO_TRY(kept, co_await link->receive(others.soon(others.server())));
      co_return Done();
    };
    const auto call = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Connected link, co_await others.transport(others.client())
                                             .connect((*listening)->endpoint(), options, others.soon(others.client())));
      Message message = weights_of(others.client(), kBytes, 6);
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), others.soon(others.client())));
      co_return co_await wait_for_end(*link, others.soon(others.client()));
    };
    others.run(serve(), call());
  }
  EXPECT_TRUE(all_are(kept.payload(), 6));
  kept.body = {};
}

class SpinningShm : public Shm {
 protected:
  SpinningShm() : Shm(std::chrono::microseconds(50)) {}
};

TEST_F(SpinningShm, CarriesTheSame) {
  const auto echoes = [&](Connection& link) -> Task<Done> {
    for (uint64_t i = 0; i < 2000; ++i) {
      SHOAL_CO_TRY(const Message message, co_await link.receive(tasks.soon(server)));
      SHOAL_CO_TRY_VOID(co_await link.send(numbered(message.head.sequence), tasks.soon(server)));
    }
    co_return co_await wait_for_end(link, tasks.soon(server));
  };
  const auto sends = [&](Connection& link) -> Task<Done> {
    for (uint64_t i = 0; i < 2000; ++i) {
      SHOAL_CO_TRY_VOID(co_await link.send(numbered(i), tasks.soon(client)));
      SHOAL_CO_TRY(const Message echo, co_await link.receive(tasks.soon(client)));
      if (echo.head.sequence != i) co_return internal_error("out of order");
    }
    co_return Done();
  };
  meet(echoes, sends);
}

}  // namespace
}  // namespace shoal::transport
