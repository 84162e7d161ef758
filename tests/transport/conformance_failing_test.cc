// SPDX-License-Identifier: Apache-2.0
/// What every transport between processes must do when a peer dies, and when the network between the two breaks. (Silent
/// peers: conformance_silence_test.cc. Peers that end in order: conformance_closing_test.cc.)
#include "answering_peer.h"

namespace shoal::transport {
namespace {

/// Everybody is patient: what is noticed at once was not noticed by silence.
class Dying : public WithAPeer {
 protected:
  void SetUp() override {
    WithAPeer::SetUp();
    listen_with(kLong);
  }
  void expect_at_once(SteadyTime since) { EXPECT_LT(server.now() - since, kLong); }
};
INSTANTIATE_TEST_SUITE_P(All, Dying, testing::ValuesIn(settings_between_processes()), setting_name);

TEST_P(Dying, AKilledPeerIsNoticedAtOnce) {
  for (const bool we_connected : {false, true}) {
    const auto peer = start_peer(kLong);
    const auto watch = [&]() -> Task<Done> {
      SHOAL_CO_TRY(Both both, co_await meet());
      Connection& link = both[we_connected];
      peer->kill();
      const SteadyTime killed = server.now();
      for (int i = 0; i < 2; ++i) {
        Result<Message> nothing = co_await link.receive(tasks.soon(server));
        expect_error(nothing, ErrorKind::kUnavailable);
      }
      Message message = numbered(2);
      EXPECT_FALSE(link.try_send(message));
      Result<void> sent = co_await link.send(std::move(message), tasks.soon(server));
      expect_error(sent, ErrorKind::kUnavailable);
      expect_at_once(killed);
      co_return Done();
    };
    run(watch());
  }
}

TEST_P(Dying, WhoWaitsForAPeerThatIsKilledIsWoken) {
  const auto peer = start_peer(kLong);
  const auto watch = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    SteadyTime killed;
    const auto kills = [&]() -> Task<Done> {
      SHOAL_CO_TRY_VOID(co_await server.sleep_for(milliseconds(20)));
      killed = server.now();
      peer->kill();
      co_return Done();
    };
    const auto waits = [&](Connection& link) -> Task<Done> {
      Result<Message> nothing = co_await link.receive(tasks.soon(server));
      expect_error(nothing, ErrorKind::kUnavailable);
      co_return Done();
    };
    TaskGroup group(server);
    group.spawn(waits(*both.theirs));
    group.spawn(waits(*both.ours));
    group.spawn(kills());
    SHOAL_CO_TRY_VOID(co_await group.join());
    expect_at_once(killed);
    co_return Done();
  };
  run(watch());
}

TEST_P(Dying, WhoSendsToAKilledPeerLearnsOfIt) {
  const auto peer = start_peer(kLong);
  const auto fill = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    peer->kill();
    const SteadyTime killed = server.now();
    Result<void> sent;
    while (sent) {
      Message message = weights_of(server, 60 * 1024, 1);
      sent = co_await both.ours->send(std::move(message), tasks.soon(server));
      SHOAL_CO_TRY_VOID(co_await server.sleep_for(milliseconds(1)));
    }
    expect_error(sent, ErrorKind::kUnavailable);
    expect_at_once(killed);
    co_return Done();
  };
  run(fill());
}

TEST_P(Dying, WhereOneWasKilledConnectionsAreRefusedUntilAnotherListens) {
  const auto peer = start_peer(kLong);
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    const Endpoint place = both.ours->peer();
    peer->kill();
    Result<Message> nothing = co_await both.ours->receive(tasks.soon(server));
    expect_error(nothing, ErrorKind::kUnavailable);
    const SteadyTime start = server.now();
    Result<Link> nobody = co_await tasks.transport(server).connect(place, options, tasks.soon(server));
    expect_error(nobody, ErrorKind::kUnavailable, place.address);
    expect_at_once(start);
    SHOAL_CO_TRY(const auto next, tasks.transport(server).listen(place, options));
    SHOAL_CO_TRY(const Link link, co_await tasks.transport(server).connect(place, options, tasks.soon(server)));
    SHOAL_CO_TRY(const Link accepted, co_await next->accept(tasks.soon(server)));
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(7), tasks.soon(server)));
    SHOAL_CO_TRY(const Message message, co_await accepted->receive(tasks.soon(server)));
    EXPECT_EQ(message.head.sequence, 7u);
    co_return Done();
  };
  run(call());
}

class BrokenNetwork : public WithAPeer {};
INSTANTIATE_TEST_SUITE_P(All, BrokenNetwork, testing::ValuesIn(settings_with_a_middle()), setting_name);

TEST_P(BrokenNetwork, AHalfOpenConnectionIsNoticedBySilence) {
  const auto peer = start_peer(kInterval, true);
  const auto watch = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    SHOAL_CO_TRY_VOID(co_await echo(*both.theirs, 1));
    peer->cut();
    const SteadyTime cut = server.now();
    Result<void> sent = co_await both.theirs->send(numbered(2), tasks.soon(server));
    EXPECT_TRUE(sent);  // The medium takes it.
    for (int i = 0; i < 2; ++i) {
      Result<Message> nothing = co_await both.theirs->receive(tasks.soon(server));
      expect_error(nothing, ErrorKind::kUnavailable, "the peer has been silent for 750 ms");
    }
    EXPECT_GE(server.now() - cut, kInterval);  // Its last message may be an interval old.
    EXPECT_LT(server.now() - cut, seconds(10));
    sent = co_await both.theirs->send(numbered(3), tasks.soon(server));
    expect_error(sent, ErrorKind::kUnavailable, "silent");
    co_return Done();
  };
  run(watch());
}

TEST_P(BrokenNetwork, ACutThatHealsInTimeDelaysOnly) {
  listen_with(kLong);
  const auto peer = start_peer(kLong, true);
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    SHOAL_CO_TRY_VOID(co_await echo(*both.theirs, 1));
    peer->cut();
    SHOAL_CO_TRY_VOID(co_await both.theirs->send(numbered(2), tasks.soon(server)));
    Result<Message> nothing = co_await both.theirs->receive(server.after(milliseconds(300)));
    expect_error(nothing, ErrorKind::kDeadlineExceeded);
    peer->heal();
    SHOAL_CO_TRY(const Message answered, co_await both.theirs->receive(tasks.soon(server)));
    EXPECT_EQ(answered.head.sequence, 2u);
    co_return Done();
  };
  run(call());
}

TEST_P(BrokenNetwork, AResetEndsAConnectionAtOnce) {
  listen_with(kLong);
  const auto peer = start_peer(kLong, true);
  const auto watch = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    SHOAL_CO_TRY_VOID(co_await echo(*both.theirs, 1));
    peer->reset();
    const SteadyTime reset = server.now();
    for (int i = 0; i < 2; ++i) {
      Result<Message> nothing = co_await both.theirs->receive(tasks.soon(server));
      expect_error(nothing, ErrorKind::kUnavailable, "connection lost");
    }
    Result<void> sent = co_await both.theirs->send(numbered(2), tasks.soon(server));
    expect_error(sent, ErrorKind::kUnavailable, "connection lost");
    EXPECT_LT(server.now() - reset, kLong);
    co_return Done();
  };
  run(watch());
}

}  // namespace
}  // namespace shoal::transport
