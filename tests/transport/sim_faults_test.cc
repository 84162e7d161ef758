// SPDX-License-Identifier: Apache-2.0
/// What the simulated network does to connections, each in the way that a real one would: cut in one direction or both,
/// reset, and with processes and hosts that die or freeze.
#include "shoal/base/random.h"
#include "shoal/transport/sim.h"
#include "two_tasks.h"

namespace shoal::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Done = Result<void>;
using Link = std::unique_ptr<Connection>;

constexpr Duration kLatency = milliseconds(10);

/// A server and its clients. Each call runs the world until it is answered.
class SimFaults : public testing::Test {
 protected:
  std::shared_ptr<SimNetwork> network = std::make_shared<SimNetwork>(1, SimLink{.latency = kLatency});
  VirtualWorld world;
  LinkOptions options;
  const Endpoint address{"sim", "server:1"};

  struct Both {
    Link client, server;
  };

  Environment& add(const std::string& name) {
    return world.add_task({.task = name, .transports = {{"sim", sim_factory(network, name)}}});
  }
  Transport& transport(Environment& env) { return *value_or_raise(env.transport("sim")); }
  std::unique_ptr<Listener> listen(Environment& env) { return value_or_raise(transport(env).listen(address, options)); }
  Result<Link> connect(Environment& env, Duration within = seconds(60)) {
    return env.run(transport(env).connect(address, options, env.after(within)));
  }
  Result<Link> accept(Environment& env, Listener& at, Duration within = seconds(1)) {
    return env.run(at.accept(env.after(within)));
  }
  Both meet(Environment& server_env, Environment& client_env, Listener& at) {
    Link connected = value_or_raise(connect(client_env));
    return {.client = std::move(connected), .server = value_or_raise(accept(server_env, at))};
  }
  Result<Message> receive(Environment& env, Connection& from, Duration within = seconds(60)) {
    return env.run(from.receive(env.after(within)));
  }
  Done send(Environment& env, Connection& over, Message message, Duration within = seconds(1)) {
    return env.run(over.send(std::move(message), env.after(within)));
  }
  void expect_arrives(uint64_t number, Environment& from, Connection& out, Environment& to, Connection& in) {
    ASSERT_TRUE(send(from, out, numbered(number)));
    const Result<Message> message = receive(to, in);
    ASSERT_TRUE(message) << message.error().message();
    EXPECT_EQ(message->head.sequence, number);
  }
  void kill(Environment& env) {
    world.kill(env);
    network->process_died(env.log().task());
  }
  void lose_power(Environment& env) {
    world.kill(env);
    network->host_died(env.log().task());
  }
  void freeze(Environment& env, bool frozen) {
    frozen ? world.freeze(env) : world.thaw(env);
    network->set_frozen(env.log().task(), frozen);
  }
  SteadyTime now() const { return world.now(); }

  Environment& server = add("server");
  Environment& client = add("client");
  std::unique_ptr<Listener> listener = listen(server);
  Both both = meet(server, client, *listener);
};

TEST_F(SimFaults, DirectionsDiffer) {
  network->set_link_one_way("client", "server", {.latency = milliseconds(300)});
  const SteadyTime start = now();
  expect_arrives(1, client, *both.client, server, *both.server);
  EXPECT_EQ(now() - start, Duration(milliseconds(300)));
  expect_arrives(2, server, *both.server, client, *both.client);
  EXPECT_EQ(now() - start, Duration(milliseconds(310)));
}

TEST_F(SimFaults, WhatGoesTheOtherWayThanACutArrives) {
  network->cut_one_way("client", "server");
  EXPECT_TRUE(send(client, *both.client, numbered(1)));
  expect_error(receive(server, *both.server, seconds(1)), ErrorKind::kDeadlineExceeded);
  expect_arrives(2, server, *both.server, client, *both.client);
  network->heal_one_way("client", "server");
  EXPECT_EQ(value_or_raise(receive(server, *both.server)).head.sequence, 1u);
  EXPECT_EQ(network->stats().cuts, 1u);
}

TEST_F(SimFaults, WhatHadArrivedBeforeACutIsThere) {
  ASSERT_TRUE(send(client, *both.client, numbered(1)));
  world.run_for(kLatency);
  ASSERT_TRUE(send(client, *both.client, numbered(2)));
  network->cut("client", "server");
  EXPECT_EQ(value_or_raise(receive(server, *both.server)).head.sequence, 1u);
  expect_error(receive(server, *both.server, seconds(1)), ErrorKind::kDeadlineExceeded);
}

TEST_F(SimFaults, WhoHearsNothingEndsTheConnectionAndSaysSoToWhoHears) {
  const SteadyTime cut = now();
  network->cut_one_way("client", "server");
  const Result<Message> unheard = receive(server, *both.server);
  expect_error(unheard, ErrorKind::kUnavailable, "the peer has been silent for 15 s");
  EXPECT_EQ(now() - cut, SimNetwork::kSilenceMax);
  const Result<Message> told = receive(client, *both.client);
  expect_error(told, unheard.error());
  EXPECT_EQ(now() - cut, SimNetwork::kSilenceMax + kLatency);
  EXPECT_EQ(network->stats().silences, 1u);
}

TEST_F(SimFaults, SilenceIsJudgedThoughNobodyLooks) {
  network->cut_one_way("client", "server");
  world.run_for(seconds(100));
  // The server ended it long ago.
  expect_error(send(client, *both.client, numbered(1)), ErrorKind::kUnavailable, "silent");
}

TEST_F(SimFaults, EachSideOfACutEndsByItself) {
  network->cut("client", "server");
  const SteadyTime cut = now();
  expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "sim://server:1#1: the peer has been silent");
  expect_error(receive(client, *both.client), ErrorKind::kUnavailable, "sim://server:1: the peer has been silent");
  EXPECT_EQ(now() - cut, SimNetwork::kSilenceMax);
  EXPECT_EQ(network->stats().silences, 2u);
}

TEST_F(SimFaults, ACutThatHealsInTimeEndsNothing) {
  for (uint64_t i = 1; i <= 3; ++i) {
    network->cut("client", "server");
    world.run_for(seconds(14));
    network->heal();
    expect_arrives(i, client, *both.client, server, *both.server);
  }
  EXPECT_EQ(network->stats().silences, 0u);
}

TEST_F(SimFaults, PatienceIsThreeIntervalsOfThePeer) {
  options.heartbeat_interval = seconds(2);
  listener.reset();
  listener = listen(server);
  options.heartbeat_interval = milliseconds(500);
  both = meet(server, client, *listener);
  network->cut("client", "server");
  const SteadyTime cut = now();
  expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "silent for 1500 ms");
  EXPECT_EQ(now() - cut, Duration(milliseconds(1500)));
  expect_error(receive(client, *both.client), ErrorKind::kUnavailable, "silent for 6 s");
  EXPECT_EQ(now() - cut, Duration(seconds(6)));
}

TEST_F(SimFaults, WithoutHeartbeatsNobodyJudges) {
  options.heartbeat_interval = {};
  both = meet(server, client, *listener);
  network->cut("client", "server");
  world.run_for(std::chrono::hours(1));
  network->heal();
  expect_arrives(1, client, *both.client, server, *both.server);
}

TEST_F(SimFaults, AcknowledgementsThatDoNotComeBackStopWhoSends) {
  options.send_queue_bytes_max = 100 * 1024;
  both = meet(server, client, *listener);
  network->cut_one_way("server", "client");
  uint64_t sent = 0;
  Done last;
  while (last) {
    last = send(client, *both.client, weights_of(client, 40 * 1024, sent + 1));
    if (!last) break;
    EXPECT_EQ(value_or_raise(receive(server, *both.server)).head.sequence, ++sent);
  }
  expect_error(last, ErrorKind::kDeadlineExceeded, "does not accept");
  EXPECT_EQ(sent, 3u);
  network->heal();
  expect_arrives(4, client, *both.client, server, *both.server);
}

TEST_F(SimFaults, WhoStandsInLineWaitsForItsTurn) {
  options.send_queue_bytes_max = 100 * 1024;
  both = meet(server, client, *listener);
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(send(client, *both.client, numbered(i)));
  for (uint64_t i = 4; i <= 5; ++i) ASSERT_TRUE(send(client, *both.client, weights_of(client, 60 * 1024, i)));
  std::vector<Task<Done>> line;
  for (uint64_t i = 6; i <= 8; ++i) line.push_back(both.client->send(numbered(i), client.after(seconds(60))));
  client.post([&line] {
    for (Task<Done>& task : line) task.start();
  });
  for (uint64_t i = 1; i <= 8; ++i) {  // The credit of the first three is not enough for anybody.
    EXPECT_EQ(value_or_raise(receive(server, *both.server)).head.sequence, i);
    world.run_for(kLatency);
    EXPECT_EQ(line[0].done(), i >= 4);
  }
  EXPECT_TRUE(line[2].done());
}

TEST_F(SimFaults, TheEndOfAConnectionDoesNotCrossACut) {
  network->cut("client", "server");
  both.client->close(failed_precondition("enough"));
  world.run_for(seconds(1));
  EXPECT_TRUE(send(server, *both.server, numbered(1))) << "how should the server know?";
  network->heal();
  expect_error(receive(server, *both.server), ErrorKind::kFailedPrecondition, "enough");
}

TEST_F(SimFaults, AResetEndsConnectionsAtOnceAtBothEnds) {
  Environment& other = add("other");
  const Both bystanders = meet(server, other, *listener);
  ASSERT_TRUE(send(client, *both.client, numbered(1)));
  ASSERT_TRUE(send(server, *both.server, numbered(2)));
  const SteadyTime start = now();
  network->reset("server", "client");
  expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "connection reset by peer");
  expect_error(receive(client, *both.client), ErrorKind::kUnavailable, "connection reset by peer");
  expect_error(send(client, *both.client, numbered(3)), ErrorKind::kUnavailable, "connection reset by peer");
  EXPECT_EQ(now(), start);
  EXPECT_EQ(network->stats().resets, 1u);
  EXPECT_EQ(network->stats().messages_lost, 2u);
  expect_arrives(4, other, *bystanders.client, server, *bystanders.server);
  both = meet(server, client, *listener);
  expect_arrives(5, client, *both.client, server, *both.server);
}

TEST_F(SimFaults, WhoeverChoosesLosesMessagesWithTheirConnections) {
  const auto third = [](std::string_view from, std::string_view to, const Message& message) {
    return from == "client" && to == "server" && message.head.sequence == 3;
  };
  for (const bool sending : {true, false}) {
    (sending ? network->lose_when_sent(third) : network->lose_when_received(third));
    expect_arrives(3, server, *both.server, client, *both.client);
    expect_arrives(2, client, *both.client, server, *both.server);
    const Done sent = send(client, *both.client, numbered(3));
    EXPECT_EQ(bool(sent), !sending);
    expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "reset");
    expect_error(receive(client, *both.client), ErrorKind::kUnavailable, "reset");
    network->lose_when_sent(nullptr);
    network->lose_when_received(nullptr);
    both = meet(server, client, *listener);
  }
  EXPECT_EQ(network->stats().messages_lost, 2u);
  EXPECT_EQ(network->stats().resets, 2u);
}

TEST_F(SimFaults, WhatAKilledProcessHadSentArrivesAndThenItsEnd) {
  ASSERT_TRUE(send(client, *both.client, numbered(1)));
  kill(client);
  const SteadyTime killed = now();
  EXPECT_EQ(value_or_raise(receive(server, *both.server)).head.sequence, 1u);
  expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "the peer is gone");
  EXPECT_EQ(now() - killed, kLatency);
  expect_error(send(server, *both.server, numbered(2)), ErrorKind::kUnavailable, "the peer is gone");
  EXPECT_EQ(network->stats().process_deaths, 1u);
}

TEST_F(SimFaults, AKilledProcessSaysNothingMore) {
  kill(client);
  Message message = numbered(1);
  EXPECT_FALSE(both.client->try_send(message));
  both.client->close(failed_precondition("an end of which nobody hears"));
  expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "the peer is gone");
}

TEST_F(SimFaults, AKilledProcessRefusesConnections) {
  kill(server);
  const SteadyTime start = now();
  expect_error(connect(client), ErrorKind::kUnavailable, "connection refused");
  EXPECT_EQ(now() - start, 2 * kLatency);
  EXPECT_EQ(network->stats().refusals, 1u);
}

TEST_F(SimFaults, AConnectionThatWasNotAcceptedEndsWithItsListener) {
  const Link waiting = value_or_raise(connect(client));
  kill(server);
  expect_error(receive(client, *waiting), ErrorKind::kUnavailable, "the peer is gone");
}

TEST_F(SimFaults, WhatAKilledTaskLeavesBehindDoesNotDisturbTheNext) {
  kill(server);
  Environment& again = add("server");
  const std::unique_ptr<Listener> next = listen(again);
  Both fresh = meet(again, client, *next);
  listener.reset();  // The killed one unwinds only now.
  both.server.reset();
  expect_arrives(1, client, *fresh.client, again, *fresh.server);
  fresh = meet(again, client, *next);
  expect_arrives(2, client, *fresh.client, again, *fresh.server);
  expect_error(receive(client, *both.client), ErrorKind::kUnavailable, "the peer is gone");
}

TEST_F(SimFaults, ADeadHostTellsNobody) {
  network->set_link("server", "client", {.latency = kLatency, .bytes_per_second = 1e6});
  ASSERT_TRUE(send(client, *both.client, numbered(1)));
  world.run_for(milliseconds(1));
  // It takes 60 ms, of which 5 remain to the host.
  ASSERT_TRUE(send(client, *both.client, weights_of(client, 60'000, 2)));
  world.run_for(milliseconds(5));
  lose_power(client);
  const SteadyTime died = now();
  EXPECT_EQ(value_or_raise(receive(server, *both.server)).head.sequence, 1u) << "that was on its way";
  EXPECT_TRUE(send(server, *both.server, numbered(3)));
  expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "silent for 15 s");
  EXPECT_EQ(now() - died, SimNetwork::kSilenceMax);
  EXPECT_EQ(network->stats().host_deaths, 1u);
}

TEST_F(SimFaults, NobodyAnswersAtADeadHost) {
  lose_power(server);
  const SteadyTime start = now();
  expect_error(connect(client, seconds(7)), ErrorKind::kDeadlineExceeded, "not connected in time");
  EXPECT_EQ(now() - start, Duration(seconds(7)));
}

TEST_F(SimFaults, AHostThatIsBackResetsWhatItDoesNotKnow) {
  lose_power(server);
  world.run_for(seconds(3));
  Environment& again = add("server");
  const std::unique_ptr<Listener> next = listen(again);
  const SteadyTime back = now();
  expect_error(receive(client, *both.client), ErrorKind::kUnavailable, "reset by peer");
  EXPECT_EQ(now() - back, 2 * kLatency);
  const Both fresh = meet(again, client, *next);
  expect_arrives(1, client, *fresh.client, again, *fresh.server);
}

TEST_F(SimFaults, AFrozenTaskIsNoticedByItsSilence) {
  options.send_queue_bytes_max = 100 * 1024;
  both = meet(server, client, *listener);
  freeze(server, true);
  const SteadyTime frozen = now();
  uint64_t sent = 0;
  Done last;
  while (last) last = send(client, *both.client, weights_of(client, 40 * 1024, ++sent));
  expect_error(last, ErrorKind::kDeadlineExceeded, "does not accept");
  EXPECT_EQ(sent, 4u) << "its kernel takes what fits";
  expect_error(receive(client, *both.client), ErrorKind::kUnavailable, "silent for 15 s");
  EXPECT_EQ(now() - frozen, SimNetwork::kSilenceMax);

  freeze(server, false);
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(value_or_raise(receive(server, *both.server)).head.sequence, i);
  expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "silent for 15 s");  // The server is told so.
  EXPECT_EQ(network->stats().freezes, 1u);
  EXPECT_EQ(network->stats().silences, 1u);
}

TEST_F(SimFaults, AFrozenListenerDoesNotAnswer) {
  freeze(server, true);
  const SteadyTime start = now();
  expect_error(connect(client), ErrorKind::kUnavailable, "does not answer");
  EXPECT_GE(now() - start, options.handshake_timeout);
  EXPECT_LT(now() - start, options.handshake_timeout + seconds(1));
  freeze(server, false);
  EXPECT_TRUE(connect(client));
}

TEST_F(SimFaults, WhoThawsListensBeforeItJudges) {
  options.heartbeat_interval = seconds(60);
  listener.reset();
  listener = listen(server);
  options.heartbeat_interval = seconds(5);
  both = meet(server, client, *listener);  // The client is patient with this server.
  freeze(server, true);
  world.run_for(seconds(10));
  network->cut_one_way("client", "server");
  world.run_for(seconds(20));
  freeze(server, false);
  const SteadyTime thawed = now();
  expect_error(receive(server, *both.server), ErrorKind::kUnavailable, "silent for 15 s");
  EXPECT_EQ(now() - thawed, SimNetwork::kSilenceMax) << "what had come before the cut was still to be heard";
}

TEST_F(SimFaults, WhoThawsInTimeGoesOn) {
  freeze(server, true);
  ASSERT_TRUE(send(client, *both.client, numbered(1)));
  world.run_for(seconds(14));
  freeze(server, false);
  EXPECT_EQ(value_or_raise(receive(server, *both.server)).head.sequence, 1u);
  expect_arrives(2, server, *both.server, client, *both.client);
}

TEST_F(SimFaults, AFrozenTaskThatIsKilledIsGone) {
  freeze(server, true);
  world.thaw(server);
  kill(server);
  expect_error(receive(client, *both.client), ErrorKind::kUnavailable, "the peer is gone");
  Environment& again = add("server");
  const std::unique_ptr<Listener> next = listen(again);
  EXPECT_TRUE(connect(client)) << "the next one is not frozen";
}

/// Everything that draws or waits, in one run.
std::pair<uint64_t, uint64_t> run_with_faults(uint64_t seed) {
  const auto network =
      std::make_shared<SimNetwork>(seed, SimLink{.latency = milliseconds(3), .jitter = milliseconds(2), .loss = 0.05});
  VirtualWorld world(VirtualWorldOptions{.seed = seed, .shuffled = true});
  std::vector<Environment*> tasks;
  for (const char* const name : {"server", "client"})
    tasks.push_back(&world.add_task({.task = name, .transports = {{"sim", sim_factory(network, name)}}}));
  const auto listener = value_or_raise(value_or_raise(tasks[0]->transport("sim"))->listen({"sim", "server:1"}, {}));
  uint64_t received = 0;
  const auto serve = [&]() -> Task<Done> {
    for (;;) {
      SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks[0]->after(seconds(60))));
      for (bool open = true; open;) {
        const Result<Message> message = co_await link->receive(tasks[0]->after(seconds(60)));
        open = bool(message);
        received += open;
      }
    }
  };
  const auto call = [&]() -> Task<Done> {
    for (int round = 0; round < 5; ++round) {
      auto connecting =
          value_or_raise(tasks[1]->transport("sim"))->connect({"sim", "server:1"}, {}, tasks[1]->after(seconds(60)));
      const Result<Link> link = co_await std::move(connecting);
      for (bool sent = bool(link); sent;) {
        Message message = numbered(1);
        const Done done = co_await (*link)->send(std::move(message), tasks[1]->after(seconds(1)));
        sent = bool(done);
        SHOAL_CO_TRY_VOID(co_await tasks[1]->sleep_for(milliseconds(7)));
      }
    }
    co_return Done();
  };
  Task<Done> serving = serve(), calling = call();
  tasks[0]->post([&] { serving.start(); });
  tasks[1]->post([&] { calling.start(); });
  RandomStream draw(seed);
  while (!calling.done()) {
    world.run_for(milliseconds(200 + int64_t(draw.below(500))));
    const uint64_t fault = draw.below(3);
    if (fault == 0) network->reset("server", "client");
    if (fault == 1) network->cut_one_way("client", "server");
    if (fault == 2) network->heal();
  }
  network->heal();
  for (Environment* const task : tasks) world.kill(*task);
  world.run_for(seconds(1));
  EXPECT_TRUE(serving.done());
  EXPECT_GT(received, 0u);
  return {world.trace(), network->stats().packets_lost};
}

TEST(SimNetwork, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(run_with_faults(3), run_with_faults(3));
  EXPECT_NE(run_with_faults(3), run_with_faults(4));
}

}  // namespace
}  // namespace shoal::transport
