// SPDX-License-Identifier: Apache-2.0
/// What only sim has: a network that takes time, loses packets and breaks, the same way each time.
#include "shoal/transport/sim.h"

#include "two_tasks.h"

namespace shoal::transport {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Done = Result<void>;
using Link = std::unique_ptr<Connection>;

/// A world of two tasks, whose connection is made.
class Sim {
 public:
  explicit Sim(SimLink link, uint64_t seed = 1) : network_(std::make_shared<SimNetwork>(seed, link)) {
    for (const char* name : {"server", "client"}) {
      tasks_.push_back(&world_.add_task({.task = name, .transports = {{"sim", sim_factory(network_, name)}}}));
    }
    listener_ = value_or_raise(transport(server()).listen({"sim", "here:0"}, {.receive_bytes_max = uint64_t(1) << 30}));
    run(
        [this]() -> Task<Done> {
          SHOAL_CO_TRY(accepted_, co_await listener_->accept(server().after(seconds(60))));
          co_return Done();
        }(),
        [this]() -> Task<Done> {
          LinkOptions options{.receive_bytes_max = uint64_t(1) << 30};
          SHOAL_CO_TRY(connected_,
                       co_await transport(client()).connect(listener_->endpoint(), options, client().after(seconds(60))));
          co_return Done();
        }());
  }

  VirtualWorld& world() { return world_; }
  SimNetwork& network() { return *network_; }
  Environment& server() { return *tasks_[0]; }
  Environment& client() { return *tasks_[1]; }
  Transport& transport(Environment& env) { return **env.transport("sim"); }
  Connection& accepted() { return *accepted_; }
  Connection& connected() { return *connected_; }
  Endpoint address() const { return listener_->endpoint(); }

  void run(Task<Done> server_task, Task<Done> client_task) {
    client().post([&client_task] { client_task.start(); });
    const Done served = server().run(std::move(server_task));
    EXPECT_TRUE(served) << served.error().message();
    world_.run_for(std::chrono::minutes(10));
    ASSERT_TRUE(client_task.done());
    const Done called = client_task.take();
    EXPECT_TRUE(called) << called.error().message();
  }

  /// Sends messages of these sizes at once; when each was there, since the first was sent.
  std::vector<Duration> arrivals(std::vector<size_t> sizes) {
    std::vector<Duration> times;
    const SteadyTime start = world_.now();
    run(
        [&]() -> Task<Done> {
          for (size_t i = 0; i < sizes.size(); ++i) {
            SHOAL_CO_TRY(const Message message, co_await accepted().receive(server().after(seconds(600))));
            EXPECT_EQ(message.head.sequence, i + 1) << "out of order";
            times.push_back(server().now() - start);
          }
          co_return Done();
        }(),
        [&]() -> Task<Done> {
          for (size_t i = 0; i < sizes.size(); ++i) {
            Message message = weights_of(client(), sizes[i], i + 1);
            SHOAL_CO_TRY_VOID(co_await connected().send(std::move(message), client().after(seconds(600))));
          }
          co_return Done();
        }());
    return times;
  }

 private:
  std::shared_ptr<SimNetwork> network_;
  VirtualWorld world_;
  std::vector<Environment*> tasks_;
  std::unique_ptr<Listener> listener_;
  Link accepted_, connected_;
};

TEST(SimNetwork, AMessageTakesTheLatency) {
  Sim sim({.latency = milliseconds(25)});
  EXPECT_THAT(sim.arrivals({0, 1 << 20}), testing::Each(Duration(milliseconds(25))));
}

TEST(SimNetwork, BytesTakeTheirTimeOneAfterTheOther) {
  Sim sim({.latency = milliseconds(50), .bytes_per_second = 1.25e6});  // The rate is 10 Mbit/s.
  const std::vector<Duration> times = sim.arrivals({125'000, 125'000});
  // Bodies carry some fields beside their payload.
  EXPECT_GT(times[0], milliseconds(150));
  EXPECT_LT(times[0], milliseconds(151));
  EXPECT_GT(times[1], milliseconds(250));
  EXPECT_LT(times[1], milliseconds(252));
}

TEST(SimNetwork, TheSameSeedGivesTheSameTimes) {
  const SimLink link{
      .latency = milliseconds(5), .jitter = milliseconds(3), .bytes_per_second = 1e6, .loss = 0.05, .duplication = 0.01};
  const std::vector<size_t> sizes(40, 9000);
  Sim first(link, 7), again(link, 7), other(link, 8);
  const auto times = first.arrivals(sizes);
  EXPECT_EQ(times, again.arrivals(sizes));
  EXPECT_NE(times, other.arrivals(sizes));
}

TEST(SimNetwork, LossCostsTimeAndNothingElse) {
  const std::vector<size_t> sizes(100, 20'000);
  Sim clean({.latency = milliseconds(5), .bytes_per_second = 1e7});
  Sim lossy({.latency = milliseconds(5), .bytes_per_second = 1e7, .loss = 0.1});
  const Duration time = clean.arrivals(sizes).back(), longer = lossy.arrivals(sizes).back();
  EXPECT_GT(longer, time * 11 / 10) << "a tenth of the bytes travels again";
  const auto packets = double(100 * (20'000 / 1460 + 1));
  EXPECT_NEAR(double(lossy.network().stats().packets_lost), 0.1 / 0.9 * packets, 0.05 * packets);
  EXPECT_EQ(lossy.network().stats().messages, 100u);
  EXPECT_EQ(clean.network().stats().packets_lost, 0u);
}

TEST(SimNetwork, WhatIsCutArrivesOnceItIsHealed) {
  Sim sim({.latency = milliseconds(1)});
  const auto healing = [&]() -> Task<Done> {
    sim.network().cut("server", "client");
    Message message = numbered(1);
    SHOAL_CO_TRY_VOID(co_await sim.connected().send(std::move(message), sim.client().after(seconds(1))));
    SHOAL_CO_TRY_VOID(co_await sim.client().sleep_for(seconds(10)));
    sim.network().heal("client", "server");
    co_return Done();
  };
  const auto receiving = [&]() -> Task<Done> {
    const SteadyTime start = sim.server().now();
    expect_error(co_await sim.accepted().receive(sim.server().after(seconds(5))), ErrorKind::kDeadlineExceeded);
    SHOAL_CO_TRY(const Message message, co_await sim.accepted().receive(sim.server().after(seconds(60))));
    EXPECT_EQ(message.head.sequence, 1u);
    EXPECT_EQ(sim.server().now() - start, Duration(seconds(10) + milliseconds(1))) << "sent again at once";
    co_return Done();
  };
  sim.run(receiving(), healing());
}

TEST(SimNetwork, WhatIsCutTooLongIsLostAtBothEnds) {
  Sim sim({});
  sim.network().partition({"server"}, {"client", "nobody"});
  const SteadyTime start = sim.world().now();
  const auto waiting = [&](Environment& env, Connection& link) -> Task<Done> {
    expect_error(co_await link.receive(env.after(seconds(100))), ErrorKind::kUnavailable, "silent");
    EXPECT_EQ(env.now() - start, Duration(SimNetwork::kSilenceMax));
    sim.network().heal();
    expect_error(co_await link.receive(env.after(seconds(100))), ErrorKind::kUnavailable, "silent");
    Message message = numbered(1);
    EXPECT_FALSE(link.try_send(message));
    co_return Done();
  };
  sim.run(waiting(sim.server(), sim.accepted()), waiting(sim.client(), sim.connected()));
}

TEST(SimNetwork, ConnectingWaitsForACutToHeal) {
  Sim sim({});
  sim.network().cut("server", "client");
  const auto connecting = [&]() -> Task<Done> {
    Transport& transport = sim.transport(sim.client());
    expect_error(co_await transport.connect(sim.address(), {}, sim.client().after(seconds(3))),
                 ErrorKind::kDeadlineExceeded);
    sim.client().post([&] { sim.network().heal(); });
    auto again = co_await transport.connect(sim.address(), {}, sim.client().after(seconds(3)));
    co_return again ? Done() : Done(again.error());
  };
  const auto nothing = []() -> Task<Done> { co_return Done(); };
  sim.run(nothing(), connecting());
}

TEST(SimNetwork, LinksDiffer) {
  Sim sim({.latency = milliseconds(1)});
  sim.network().set_link("client", "server", {.latency = milliseconds(30)});
  EXPECT_EQ(sim.arrivals({10}).front(), Duration(milliseconds(30)));
}

TEST(SimNetwork, AClosingReasonTravelsBehindTheMessages) {
  Sim sim({.latency = milliseconds(20)});
  const SteadyTime start = sim.world().now();
  const auto closing = [&]() -> Task<Done> {
    Message message = numbered(1);
    EXPECT_TRUE(sim.connected().try_send(message));
    sim.connected().close(failed_precondition("enough"));
    co_return Done();
  };
  const auto receiving = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Message message, co_await sim.accepted().receive(sim.server().after(seconds(1))));
    EXPECT_EQ(message.head.sequence, 1u);
    expect_error(co_await sim.accepted().receive(sim.server().after(seconds(1))), ErrorKind::kFailedPrecondition, "enough");
    EXPECT_EQ(sim.server().now() - start, Duration(milliseconds(20)));
    co_return Done();
  };
  sim.run(receiving(), closing());
}

}  // namespace
}  // namespace shoal::transport
