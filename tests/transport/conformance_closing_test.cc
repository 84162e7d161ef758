// SPDX-License-Identifier: Apache-2.0
/// What every transport must do: ends, wanted or not.
#include <thread>

#include "transports.h"

namespace shoal::transport {
namespace {

TEST_P(Transports, CloseSendsWhatIsQueuedAndThenTheReason) {
  constexpr uint64_t kCount = 50;
  const Error reason = failed_precondition("shard 1: another model");
  std::atomic<bool> told = false;
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    link->set_receive_limit(kBig);
    for (uint64_t i = 1; i <= kCount; ++i) {
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
      EXPECT_EQ(message.head.sequence, i);
    }
    for (int i = 0; i < 2; ++i) {
      Result<Message> end = co_await link->receive(tasks.soon(server));
      expect_error(end, reason);
    }
    told = true;
    Message late = numbered(1);
    EXPECT_FALSE(link->try_send(late));
    Result<void> sent = co_await link->send(std::move(late), tasks.soon(server));
    expect_error(sent, reason);
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    for (uint64_t i = 1; i <= kCount; ++i) {
      Message message = weights_of(client, 200 * 1024, i);
      EXPECT_TRUE(link->try_send(message));
    }
    link->close(reason);
    link->close(unavailable("a second reason does not count"));
    Message late = numbered(1);
    EXPECT_FALSE(link->try_send(late));
    Result<Message> ours = co_await link->receive(tasks.soon(client));
    expect_error(ours, reason);
    const SteadyTime deadline = tasks.soon(client);
    while (!told && client.now() < deadline)  // The loop must turn until the reason has left, too.
      SHOAL_CO_TRY_VOID(co_await client.sleep_for(milliseconds(1)));
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, CloseWakesAllWaits) {
  options.send_queue_bytes_max = 64 * 1024;
  listen_again();
  std::atomic<bool> client_done = false;
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    Message filler = weights_of(server, 8 << 20, 1);
    std::vector<Result<void>> ends;
    const auto fills = [&]() -> Task<Done> {
      while (true) {
        Result<void> sent = co_await link->send(filler, tasks.soon(server));
        if (sent) continue;
        ends.push_back(sent);
        co_return Done();
      }
    };
    const auto receives = [&]() -> Task<Done> {
      Result<Message> received = co_await link->receive(tasks.soon(server));
      EXPECT_FALSE(received);
      if (!received) ends.push_back(received.error());
      co_return Done();
    };
    TaskGroup group(server);
    group.spawn(receives());
    group.spawn(fills());
    group.spawn(fills());
    SHOAL_CO_TRY_VOID(co_await server.sleep_for(milliseconds(50)));
    link->close(internal_error("enough"));
    SHOAL_CO_TRY_VOID(co_await group.join());
    EXPECT_EQ(ends.size(), 3u);
    for (const auto& end : ends) EXPECT_EQ(end.error(), internal_error("enough"));
    const SteadyTime deadline = tasks.soon(server);
    while (!client_done && server.now() < deadline)  // The loop must turn meanwhile.
      SHOAL_CO_TRY_VOID(co_await server.sleep_for(milliseconds(1)));
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    link->set_receive_limit(kBig);
    while (true) {  // It takes everything, slowly to begin with.
      SHOAL_CO_TRY_VOID(co_await client.sleep_for(milliseconds(100)));
      Result<Message> received = co_await link->receive(tasks.soon(client));
      if (!received) break;
    }
    client_done = true;
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, APeerThatIsDroppedIsNoticed) {
  const auto serve = [&]() -> Task<Done> {
    {
      SHOAL_CO_TRY(const Link link, co_await accept());
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
    }
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(1), tasks.soon(client)));
    Result<Message> end = co_await link->receive(tasks.soon(client));
    expect_error(end, ErrorKind::kUnavailable);
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, MayBeDestroyedWhileItsWaitsPend) {
  const auto serve = [&]() -> Task<Done> {
    Result<Link> accepted = co_await accept();
    if (!accepted) co_return accepted.error();
    Link link = std::move(*accepted);
    const auto receives = [&]() -> Task<Done> {
      Result<Message> received = co_await link->receive(tasks.soon(server));
      expect_error(received, ErrorKind::kUnavailable);
      co_return Done();
    };
    const auto accepts = [&]() -> Task<Done> {
      Result<Link> another = co_await accept();
      expect_error(another, ErrorKind::kCancelled);
      co_return Done();
    };
    TaskGroup group(server);
    group.spawn(receives());
    group.spawn(accepts());
    link.reset();
    listener.reset();
    co_return co_await group.join();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    co_return co_await wait_for_peer_to_leave(*link, client);
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, CoroutinesMayBeDestroyedWhileTheyWait) {
  const auto serve = [&]() -> Task<Done> {
    Result<Link> accepted = co_await accept();
    if (!accepted) co_return accepted.error();
    Link link = std::move(*accepted);
    {
      Task<Result<Message>> receives = link->receive(tasks.soon(server));
      Task<Result<Link>> accepts = accept();
      Task<Result<Link>> connects = tasks.transport(server).connect(address, options, tasks.soon(server));
      receives.start();
      accepts.start();
      connects.start();
      EXPECT_FALSE(receives.done());
      EXPECT_FALSE(accepts.done());
    }
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

TEST_P(Transports, WhatWasQueuedArrivesThoughTheTaskEnds) {
  if (GetParam().virtual_time) GTEST_SKIP() << "tasks of a virtual world end with it";
  constexpr uint64_t kCount = 100;
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    for (uint64_t i = 1; i <= kCount; ++i) {
      Message message = weights_of(client, 50 * 1024, i);
      EXPECT_TRUE(link->try_send(message));
    }
    link->close(unavailable("the job is done"));
    co_return Done();
  };
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    link->set_receive_limit(kBig);
    for (uint64_t i = 1; i <= kCount; ++i) {
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
      EXPECT_EQ(message.head.sequence, i);
    }
    Result<Message> end = co_await link->receive(tasks.soon(server));
    expect_error(end, ErrorKind::kUnavailable, "the job is done");
    co_return Done();
  };
  Done served;
  std::thread other([&] { served = server.run(serve()); });
  tasks.run_client(call());
  tasks.end_client();
  other.join();
  EXPECT_TRUE(served) << served.error().message();
}

TEST_P(Transports, AConnectionMayOutliveItsTask) {
  if (GetParam().virtual_time) GTEST_SKIP() << "tasks of a virtual world end with it";
  Link kept;
  const auto call = [&]() -> Task<Done> {
    Result<Link> link = co_await connect();
    if (!link) co_return link.error();
    kept = std::move(*link);
    co_return Done();
  };
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    co_return Done();
  };
  tasks.run(serve(), call());
  tasks.end_client();
  Message message = numbered(1);
  (void)kept->try_send(message);
  kept->close(unavailable("late"));
  kept.reset();
}

}  // namespace
}  // namespace shoal::transport
