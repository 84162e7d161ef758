// SPDX-License-Identifier: Apache-2.0
/// What every transport must do with messages: order, sizes, back-pressure, deadlines, limits.
#include <algorithm>
#include <thread>

#include "transports.h"

namespace shoal::transport {
namespace {

TEST_P(Transports, KeepsOrderInBothDirections) {
  constexpr uint64_t kCount = 20000;
  const auto sends = [&](Environment& env, Connection& link) -> Task<Done> {
    for (uint64_t i = 1; i <= kCount; ++i) {
      Message message = i % 3 ? numbered(i) : make_control(env.buffers(), "n");
      message.head.sequence = i;
      SHOAL_CO_TRY_VOID(co_await link.send(std::move(message), tasks.soon(env)));
    }
    co_return Done();
  };
  const auto receives = [&](Environment& env, Connection& link) -> Task<Done> {
    for (uint64_t i = 1; i <= kCount; ++i) {
      SHOAL_CO_TRY(const Message message, co_await link.receive(tasks.soon(env)));
      if (message.head.sequence != i) co_return internal_error("out of order");
    }
    co_return Done();
  };
  const auto both = [&](Environment& env, bool accepting) -> Task<Done> {
    Task<Result<Link>> meeting = accepting ? accept() : connect();
    Result<Link> link = co_await std::move(meeting);
    if (!link) co_return std::move(link).error();
    TaskGroup group(env);
    group.spawn(sends(env, **link));
    group.spawn(receives(env, **link));
    SHOAL_CO_TRY_VOID(co_await group.join());
    // Neither leaves before the other has everything.
    Message bye = numbered(0);
    SHOAL_CO_TRY_VOID(co_await (*link)->send(std::move(bye), tasks.soon(env)));
    Result<Message> last = co_await (*link)->receive(tasks.soon(env));
    co_return last ? Done() : Done(last.error());
  };
  tasks.run(both(server, true), both(client, false));
  EXPECT_EQ(tasks.transport(server).stats().bytes_copied, 0u);
  EXPECT_GE(tasks.transport(server).stats().messages_received, kCount);
  EXPECT_GE(tasks.transport(client).stats().messages_sent, kCount);
}

TEST_P(Transports, CarriesHeadsUnchanged) {
  MessageHead head{.kind = MessageKind::kControl,
                   .status = 200,
                   .job = ~uint64_t(0),
                   .epoch = 2,
                   .incarnation = 4,
                   .sequence = uint64_t(1) << 63,
                   .reply_to = 6,
                   .global_step = 7};
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
    EXPECT_EQ(message.head, head);
    EXPECT_EQ(read_control(message)->text, "text");
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    EXPECT_EQ(link->peer(), address);
    Message message = make_control(client.buffers(), "verb", "text");
    message.head = head;
    co_return co_await link->send(std::move(message), tasks.soon(client));
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, CarriesEveryKindOfMessage) {
  const auto one_of_each = [](BufferPool& pool) {
    std::vector<Message> all;
    all.push_back(make_hello(pool, {.job = "j", .role = "ps", .strategy = "async", .numerics = "n"}));
    all.push_back(make_control(pool, "verb", "text"));
    all.emplace_back().head.kind = MessageKind::kPull;
    all.push_back(make_weights(pool, 64));
    all.push_back(make_chunk(pool, {.range_end = 64, .push = 1}, 64, 1).message);
    all.push_back(make_snapshot_part(pool, {.name = "weights"}));
    all.push_back(make_error(pool, unavailable("gone")));
    all.push_back(make_report(pool, {.push = {1, 2, 3}}));
    all.push_back(make_order(pool, {.index = 1, .pushes = {{1, 2, 3}}}));
    EXPECT_EQ(all.back().head.kind, kMessageKindLast);
    return all;
  };
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    for (const Message& sent : one_of_each(server.buffers())) {
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
      EXPECT_EQ(message.head.kind, sent.head.kind);
      EXPECT_EQ(message.payload().size(), sent.payload().size());
    }
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    for (Message& message : one_of_each(client.buffers())) {
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
    }
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, CarriesLargeAndEmptyMessagesWithoutCopies) {
  constexpr size_t kBytes = size_t(64) << 20;
  std::atomic<const std::byte*> sent_from = nullptr;
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    link->set_receive_limit(kBig);
    for (size_t bytes : {kBytes, size_t(0), size_t(1), kBytes}) {
      SHOAL_CO_TRY(Message message, co_await link->receive(tasks.soon(server)));
      SHOAL_CO_TRY(const Weights weights, read_weights(message));
      EXPECT_EQ(weights.payload.size(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(weights.payload.data()) % 64, 0u);
      const auto expected = std::byte(message.head.sequence);
      EXPECT_TRUE(std::all_of(weights.payload.begin(), weights.payload.end(), [&](std::byte b) { return b == expected; }));
      const bool handed_over = weights.payload.data() == sent_from;
      if (bytes == kBytes) {
        EXPECT_EQ(handed_over, GetParam().one_process || GetParam().virtual_time);
      }
      message.body = {};
      SHOAL_CO_TRY_VOID(co_await link->send(numbered(1), tasks.soon(server)));
    }
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    uint64_t sequence = 0;
    for (size_t bytes : {kBytes, size_t(0), size_t(1), kBytes}) {
      Message message = weights_of(client, bytes, ++sequence);
      sent_from = message.payload().data();
      SHOAL_CO_TRY_VOID(co_await link->send(message, tasks.soon(client)));
      SHOAL_CO_TRY(const Message reply, co_await link->receive(tasks.soon(client)));
      EXPECT_FALSE(reply.body);
      EXPECT_EQ(mutable_payload(message).size(), bytes);  // Nobody holds it any more: it may be written again.
    }
    co_return Done();
  };
  tasks.run(serve(), call());
  EXPECT_EQ(tasks.transport(client).stats().bytes_copied + tasks.transport(server).stats().bytes_copied, 0u);
  EXPECT_GE(tasks.transport(client).stats().bytes_sent, 2 * kBytes);
  EXPECT_GE(tasks.transport(server).stats().bytes_received, 2 * kBytes);
}

TEST_P(Transports, ManyMessagesInFlightAllArriveWhole) {
  constexpr uint64_t kCount = 300;
  const auto size_of = [](uint64_t i) { return size_t(i * i * 7 % 100000); };
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    link->set_receive_limit(kBig);
    for (uint64_t i = 1; i <= kCount; ++i) {
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
      const auto payload = message.payload();
      EXPECT_EQ(payload.size(), size_of(i));
      EXPECT_TRUE(std::all_of(payload.begin(), payload.end(), [&](std::byte b) { return b == std::byte(i); }));
    }
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    for (uint64_t i = 1; i <= kCount; ++i) {
      Message message = weights_of(client, size_of(i), i);
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
    }
    SHOAL_CO_TRY_VOID(co_await wait_for_peer_to_leave(*link, client));
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, PressesBackAndKeepsOrder) {
  options.send_queue_bytes_max = 1 << 20;
  listen_again();
  constexpr size_t kBytes = 60 * 1024;
  constexpr uint64_t kLimit = (uint64_t(256) << 20) / kBytes;
  uint64_t accepted_count = 0;
  std::atomic<bool> gave_up = false;
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    link->set_receive_limit(kBig);
    SHOAL_CO_TRY(const Message go, co_await link->receive(tasks.soon(server)));
    // Takes nothing until the other side has found the end of its credit and given up waiting for more.
    while (true) {
      SHOAL_CO_TRY_VOID(co_await server.sleep_for(milliseconds(1)));
      if (gave_up.load()) break;
    }
    for (uint64_t expected = 1;; ++expected) {
      Result<Message> message = co_await link->receive(tasks.soon(server));
      if (!message) co_return std::move(message).error();
      if (message->head.sequence == 0) break;
      EXPECT_EQ(message->head.sequence, expected);
      accepted_count = expected;
    }
    co_return co_await link->send(numbered(1), tasks.soon(server));
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    Message go = numbered(77);
    EXPECT_TRUE(link->try_send(go));
    uint64_t sequence = 1;
    Message message = weights_of(client, kBytes, sequence);
    // A moment without credit may only mean that the socket has not drained yet: no credit for 100 ms is the end of it.
    while (sequence < kLimit) {
      Result<void> sent = co_await link->send(message, client.after(milliseconds(100)));
      if (!sent) {
        EXPECT_EQ(sent.error().kind(), ErrorKind::kDeadlineExceeded);
        break;
      }
      message = weights_of(client, kBytes, ++sequence);
    }
    EXPECT_LT(sequence, kLimit) << "256 MiB were taken while nobody received";
    EXPECT_FALSE(link->try_send(message));
    EXPECT_TRUE(message.body);  // It was left as it was.
    gave_up = true;
    // Several stand in line: they leave it in the order they came.
    TaskGroup group(client);
    for (uint64_t i = 0; i < 5; ++i) {
      Message next = weights_of(client, kBytes, sequence + i);
      group.spawn(send_one(*link, std::move(next), tasks.soon(client)));
    }
    SHOAL_CO_TRY_VOID(co_await group.join());
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(0), tasks.soon(client)));
    SHOAL_CO_TRY(const Message reply, co_await link->receive(tasks.soon(client)));
    EXPECT_EQ(accepted_count, sequence + 4);
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, StaysUsableAfterADeadline) {
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    for (int i = 0; i < 3; ++i) {
      const SteadyTime deadline = server.after(milliseconds(20));
      Result<Message> nothing = co_await link->receive(deadline);
      expect_error(nothing, ErrorKind::kDeadlineExceeded);
      EXPECT_GE(server.now(), deadline);
    }
    Result<Message> past = co_await link->receive(server.now());
    EXPECT_FALSE(past);
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(1), tasks.soon(server)));
    SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
    EXPECT_EQ(message.head.sequence, 2u);
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(client)));
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(2), tasks.soon(client)));
    co_return co_await wait_for_peer_to_leave(*link, client);
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, AcceptHasADeadline) {
  const auto serve = [&]() -> Task<Done> {
    Result<Link> nobody = co_await listener->accept(server.after(milliseconds(10)));
    expect_error(nobody, ErrorKind::kDeadlineExceeded);
    SHOAL_CO_TRY(const Link link, co_await accept());
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY_VOID(co_await client.sleep_for(milliseconds(30)));
    SHOAL_CO_TRY(const Link link, co_await connect());
    co_return co_await wait_for_peer_to_leave(*link, client);
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, RefusesMessagesBeyondTheLimit) {
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    SHOAL_CO_TRY(const Message small, co_await link->receive(tasks.soon(server)));
    link->set_receive_limit(200 * 1024);
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(1), tasks.soon(server)));
    SHOAL_CO_TRY(const Message larger, co_await link->receive(tasks.soon(server)));
    Result<Message> end = co_await link->receive(tasks.soon(server));
    expect_error(end, ErrorKind::kInvalidArgument, "204800");
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    Message small = weights_of(client, 60 * 1024, 1);
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(small), tasks.soon(client)));
    SHOAL_CO_TRY(const Message raised, co_await link->receive(tasks.soon(client)));
    Message larger = weights_of(client, 190 * 1024, 1);
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(larger), tasks.soon(client)));
    Message too_large = weights_of(client, 210 * 1024, 1);
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(too_large), tasks.soon(client)));
    Result<Message> end = co_await link->receive(tasks.soon(client));
    expect_error(end, ErrorKind::kInvalidArgument);
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, RefusesMessagesThatDoNotVerify) {
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    Result<Message> end = co_await link->receive(tasks.soon(server));
    expect_error(end, ErrorKind::kDataLoss);
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    Message message = make_chunk(client.buffers(), {.range_begin = 5, .range_end = 4}, 0, 0).message;
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
    Result<Message> end = co_await link->receive(tasks.soon(client));
    expect_error(end, ErrorKind::kDataLoss);
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, TakesMessagesFromAnyThread) {
  if (GetParam().virtual_time) GTEST_SKIP() << "a virtual world has one thread";
  constexpr uint64_t kThreads = 4, kEach = 5000;
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    std::vector<uint64_t> last(kThreads, 0);
    for (uint64_t i = 0; i < kThreads * kEach; ++i) {
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
      EXPECT_EQ(message.head.sequence, ++last[message.head.job]);
    }
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    std::vector<std::thread> senders;
    for (uint64_t t = 0; t < kThreads; ++t) {
      senders.emplace_back([&, t] {
        for (uint64_t i = 1; i <= kEach; ++i) {
          Message message = numbered(i);
          message.head.job = t;
          while (!link->try_send(message)) std::this_thread::yield();
        }
      });
    }
    Done left = co_await wait_for_peer_to_leave(*link, client);
    for (std::thread& sender : senders) sender.join();
    co_return left;
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, SteadyTrafficAllocatesNoBuffers) {
  constexpr int kRounds = 2000, kWarmUp = 200;
  constexpr uint64_t kInFlight = 2;  // A thread of the transport may still hold a body that has arrived already.
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    uint64_t fresh = 0;
    for (int i = 0; i < kRounds; ++i) {
      SHOAL_CO_TRY(Message message, co_await link->receive(tasks.soon(server)));
      if (i == kWarmUp) fresh = server.buffers().stats().fresh_count;
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(server)));
    }
    EXPECT_LE(server.buffers().stats().fresh_count, fresh + kInFlight);
    co_return co_await wait_for_peer_to_leave(*link, server);
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    uint64_t fresh = 0;
    for (int i = 0; i < kRounds; ++i) {
      if (i == kWarmUp) fresh = client.buffers().stats().fresh_count;
      Message message = weights_of(client, 10000, uint64_t(i));
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
      SHOAL_CO_TRY(const Message echo, co_await link->receive(tasks.soon(client)));
    }
    EXPECT_LE(client.buffers().stats().fresh_count, fresh + kInFlight);
    co_return Done();
  };
  tasks.run(serve(), call());
}

}  // namespace
}  // namespace shoal::transport
