// SPDX-License-Identifier: Apache-2.0
/// What every transport must do: listening and connecting.

#include "transports.h"

namespace shoal::transport {
namespace {

INSTANTIATE_TEST_SUITE_P(All, Transports, testing::ValuesIn(all_settings()), setting_name);

TEST_P(Transports, IsTheOneAskedFor) {
  EXPECT_EQ(address.scheme, GetParam().scheme);
  EXPECT_THAT(address.address, testing::Not(testing::EndsWith(":0")));
}

TEST_P(Transports, AnAddressIsHadByOne) {
  auto second = tasks.transport(client).listen(address, options);
  expect_error(second, ErrorKind::kUnavailable, address.address);
  listener.reset();
  EXPECT_TRUE(tasks.transport(client).listen(address, options));
}

TEST_P(Transports, NobodyThereIsUnavailable) {
  listener.reset();
  const auto call = [&]() -> Task<Done> {
    Result<Link> link = co_await connect();
    expect_error(link, ErrorKind::kUnavailable, address.address);
    co_return Done();
  };
  tasks.run_client(call());
}

TEST_P(Transports, CloseOfAListenerWakesAccept) {
  const auto serve = [&]() -> Task<Done> {
    const auto accepts = [&]() -> Task<Done> {
      Result<Link> link = co_await accept();
      expect_error(link, ErrorKind::kCancelled);
      co_return Done();
    };
    TaskGroup group(server);
    group.spawn(accepts());
    listener->close();
    SHOAL_CO_TRY_VOID(co_await group.join());
    Result<Link> link = co_await accept();
    EXPECT_FALSE(link);
    co_return Done();
  };
  const auto nothing = []() -> Task<Done> { co_return Done(); };
  tasks.run(serve(), nothing());
}

TEST_P(Transports, APeerMayComeBack) {
  constexpr int kTimes = 20;
  const auto serve = [&]() -> Task<Done> {
    for (int i = 0; i < kTimes; ++i) {
      SHOAL_CO_TRY(const Link link, co_await accept());
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
      EXPECT_EQ(message.head.sequence, uint64_t(i));
      SHOAL_CO_TRY_VOID(co_await link->send(numbered(uint64_t(i)), tasks.soon(server)));
      SHOAL_CO_TRY_VOID(co_await wait_for_peer_to_leave(*link, server));
    }
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    for (int i = 0; i < kTimes; ++i) {
      SHOAL_CO_TRY(const Link link, co_await connect());
      SHOAL_CO_TRY_VOID(co_await link->send(numbered(uint64_t(i)), tasks.soon(client)));
      SHOAL_CO_TRY(const Message reply, co_await link->receive(tasks.soon(client)));
      EXPECT_EQ(reply.head.sequence, uint64_t(i));
    }
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, ServesTwoHundredAtOnce) {
  constexpr uint64_t kPeers = 200, kRounds = 20;
  options.handshake_timeout = seconds(15);  // The last of so many may wait long for its turn.
  listen_again();
  const auto echoes = [&](Link link) -> Task<Done> {
    for (uint64_t i = 0; i < kRounds; ++i) {
      SHOAL_CO_TRY(Message message, co_await link->receive(tasks.soon(server)));
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(server)));
    }
    co_return co_await wait_for_peer_to_leave(*link, server);
  };
  const auto serve = [&]() -> Task<Done> {
    TaskGroup group(server);
    Done failed;
    for (uint64_t i = 0; i < kPeers && failed; ++i) {
      Result<Link> link = co_await accept();
      if (link) {
        group.spawn(echoes(std::move(*link)));
      } else {
        failed = link.error();
      }
    }
    SHOAL_CO_TRY_VOID(co_await group.join());
    co_return failed;
  };
  const auto calls = [&](uint64_t peer) -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    for (uint64_t i = 0; i < kRounds; ++i) {
      Message message = weights_of(client, 1000, peer);
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
      SHOAL_CO_TRY(const Message echo, co_await link->receive(tasks.soon(client)));
      if (echo.head.sequence != peer || echo.payload()[999] != std::byte(peer)) co_return internal_error("someone else's");
    }
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    TaskGroup group(client);
    for (uint64_t i = 0; i < kPeers; ++i) group.spawn(calls(i));
    co_return co_await group.join();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, RefusesMoreThanItsConnections) {
  options.connections_max = 2;
  listen_again();
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Link first, co_await accept());
    SHOAL_CO_TRY(const Link second, co_await accept());
    SHOAL_CO_TRY(const Message refused, co_await second->receive(tasks.soon(server)));
    first->close(unavailable("make room"));
    first.reset();
    SHOAL_CO_TRY(const Link third, co_await accept());
    co_return co_await wait_for_peer_to_leave(*third, server);
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link first, co_await connect());
    SHOAL_CO_TRY(const Link second, co_await connect());
    Result<Link> third = co_await connect();
    expect_error(third, ErrorKind::kUnavailable);
    SHOAL_CO_TRY_VOID(co_await second->send(numbered(1), tasks.soon(client)));
    SHOAL_CO_TRY_VOID(co_await wait_for_peer_to_leave(*first, client));
    while (true) {  // The place is free as soon as the other side has seen our end of the first.
      Result<Link> again = co_await connect();
      if (again) break;
      if (again.error().kind() != ErrorKind::kUnavailable) co_return again.error();
      SHOAL_CO_TRY_VOID(co_await client.sleep_for(milliseconds(1)));
    }
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_P(Transports, ThousandsOfConnectionsLeaveNothingBehind) {
  constexpr int kCount = kSlowness > 1 ? 500 : kSanitized ? 2000 : 10'000, kWarmUp = kSlowness > 1 ? 100 : 500;
  constexpr size_t kGrowthMax = size_t(4) << 20;  // Less than 450 bytes each.
  const auto serve = [&]() -> Task<Done> {
    for (int i = 0; i < kWarmUp + kCount; ++i) {
      SHOAL_CO_TRY(const Link link, co_await accept());
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
    }
    co_return Done();
  };
  size_t files_before = 0, threads_before = 0, resident_before = 0;
  const auto call = [&]() -> Task<Done> {
    for (int i = 0; i < kWarmUp + kCount; ++i) {
      if (i == kWarmUp) {
        files_before = open_files();
        threads_before = threads();
        resident_before = resident_bytes();
      }
      SHOAL_CO_TRY(const Link link, co_await connect());
      SHOAL_CO_TRY_VOID(co_await link->send(numbered(1), tasks.soon(client)));
      SHOAL_CO_TRY_VOID(co_await wait_for_peer_to_leave(*link, client));
    }
    // The last ones may still be saying good-bye.
    const SteadyTime deadline = tasks.soon(client);
    while (open_files() > files_before + 2 && client.now() < deadline)
      SHOAL_CO_TRY_VOID(co_await client.sleep_for(milliseconds(5)));
    EXPECT_LE(open_files(), files_before + 2);
    EXPECT_LE(threads(), threads_before);
    if (!kSanitized && kSlowness == 1) {  // Sanitizers look for leaks themselves; an emulator has memory of its own.
      EXPECT_LE(resident_bytes(), resident_before + kGrowthMax);
    }
    co_return Done();
  };
  tasks.run(serve(), call());
}

}  // namespace
}  // namespace shoal::transport
