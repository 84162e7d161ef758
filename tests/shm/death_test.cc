// SPDX-License-Identifier: Apache-2.0
/// Peers that are killed, and what is left of peers in the long run.
#include "child_process.h"
#include "holding_peer.h"
#include "meeting.h"

namespace shoal::transport {
namespace {

TEST_F(Shm, AProcessThatIsKilledIsNoticedAndItsMemoryGoes) {
  ASSERT_TRUE(listen());
  const auto serve = [&]() -> Task<Done> {
    for (const bool while_sending : {false, true}) {
      ChildProcess child({"--child", to_string(listener->endpoint())});
      SHOAL_CO_TRY(const Connected link, co_await accept());
      SHOAL_CO_TRY(Message large, co_await link->receive(tasks.soon(server)));
      EXPECT_EQ(large.payload().size(), kHeldBytes);
      const size_t of_child = mapped("memfd:shoal", " r--s ");
      EXPECT_GE(of_child, 1u);
      if (!while_sending) child.kill();
      Result<void> sent;
      for (uint64_t i = 0; while_sending && sent; ++i) {
        Message message = weights_of(server, 512 * 1024, i);
        sent = co_await link->send(std::move(message), tasks.soon(server));
        if (i == 20) child.kill();
      }
      EXPECT_TRUE(sent || sent.error().kind() == ErrorKind::kUnavailable);
      const SteadyTime killed = server.now();
      SHOAL_CO_TRY_VOID(co_await wait_for_end(*link, tasks.soon(server)));
      EXPECT_LT(server.now() - killed, seconds(5));
      // What it sent is still whole; its memory goes with the last message.
      EXPECT_EQ(large.payload()[kHeldBytes - 1], std::byte(1));
      EXPECT_GE(mapped("memfd:shoal", " r--s "), 1u);
      large.body = {};
    }
    co_return Done();
  };
  const Done done = server.run(serve());
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_EQ(mapped("memfd:shoal", " r--s "), 0u);
}

TEST_F(Shm, BuffersThatADeadPeerHeldAreGivenUp) {
  ASSERT_TRUE(listen());
  const auto serve = [&]() -> Task<Done> {
    ChildProcess child({"--child", to_string(listener->endpoint())});
    SHOAL_CO_TRY(const Connected link, co_await accept());
    for (uint64_t i = 1; i <= 10; ++i) {
      Message message = weights_of(server, kHeldBytes, i);
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(server)));
    }
    for (uint64_t words = 0; words < 10;) {
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
      words += message.head.kind == MessageKind::kPull;
    }
    EXPECT_GE(server.buffers().stats().in_use_bytes, 10 * kHeldBytes);
    child.kill();
    co_return co_await wait_for_end(*link, tasks.soon(server));
  };
  const Done done = server.run(serve());
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_EQ(server.buffers().stats().in_use_bytes, 0u);
  EXPECT_LT(server.buffers().stats().allocated_bytes, 2 * kHeldBytes);  // It was not kept for another use either.
  EXPECT_LE(mapped("memfd:shoal"), 2u);
}

TEST_F(Shm, AThousandConnectionsLeaveNoDescriptorAndNoMapping) {
  constexpr int kCount = 1000;
  ASSERT_TRUE(listen());
  const auto serve = [&]() -> Task<Done> {
    for (int i = 0; i < kCount + 1; ++i) {
      SHOAL_CO_TRY(const Connected link, co_await accept());
      SHOAL_CO_TRY(Message message, co_await link->receive(tasks.soon(server)));
      message.body = {};
      Message reply = weights_of(server, 10000, 1);
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(reply), tasks.soon(server)));
      SHOAL_CO_TRY_VOID(co_await wait_for_end(*link, tasks.soon(server)));
    }
    co_return Done();
  };
  size_t files = 0, mappings = 0;
  const auto call = [&]() -> Task<Done> {
    for (int i = 0; i < kCount + 1; ++i) {
      {
        SHOAL_CO_TRY(const Connected link, co_await connect());
        Message message = weights_of(client, 10000, 1);
        SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
        SHOAL_CO_TRY(const Message reply, co_await link->receive(tasks.soon(client)));
      }
      if (i > 0) continue;
      files = open_files();
      mappings = mapped("memfd:shoal");
    }
    // The last ones may still be saying good-bye.
    const auto none_left = [&] { return open_files() <= files + 2 && mapped("memfd:shoal") <= mappings + 2; };
    co_return co_await until(client, none_left);
  };
  tasks.run(serve(), call());
}

}  // namespace
}  // namespace shoal::transport
