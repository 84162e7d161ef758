// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/stop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace shoal {
namespace {

TEST(Stop, TokensSeeTheirSource) {
  const StopSource source;
  const StopToken token = source.token();
  EXPECT_TRUE(token.stop_possible());
  EXPECT_FALSE(token.stop_requested());
  EXPECT_TRUE(source.request_stop());
  EXPECT_TRUE(token.stop_requested());
  EXPECT_FALSE(source.request_stop());
  EXPECT_FALSE(StopToken().stop_possible());
  EXPECT_FALSE(StopToken().stop_requested());
}

TEST(Stop, CallbacksRunOnceInTheOrderTheyCame) {
  const StopSource source;
  std::vector<int> order;
  StopCallback a(source.token(), [&] { order.push_back(1); });
  StopCallback b(source.token(), [&] { order.push_back(2); });
  {
    StopCallback gone(source.token(), [&] { order.push_back(99); });
  }
  StopCallback c(source.token(), [&] { order.push_back(3); });
  source.request_stop();
  source.request_stop();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  StopCallback late(source.token(), [&] { order.push_back(4); });
  EXPECT_EQ(order.back(), 4);
  StopCallback never(StopToken(), [&] { order.push_back(99); });
  EXPECT_EQ(order.size(), 4u);
}

TEST(Stop, ChildrenStopWithTheirParentButNotTheOtherWayRound) {
  const StopSource parent;
  const StopSource child(parent.token()), other(parent.token());
  const StopSource grandchild(child.token());
  child.request_stop();
  EXPECT_TRUE(grandchild.stop_requested());
  EXPECT_FALSE(parent.stop_requested());
  EXPECT_FALSE(other.stop_requested());
  parent.request_stop();
  EXPECT_TRUE(other.stop_requested());
  EXPECT_TRUE(StopSource(parent.token()).stop_requested());
}

// A task that saw an interrupt, and not yet that it gives way, took the one for the end of its job.
TEST(Stop, AChildHasStoppedAsSoonAsItsParentHas) {
  const StopSource parent, other;
  StopCallback first(parent.token(), [&] { other.request_stop(); });
  const StopSource child(parent.token());
  bool seen = false;
  StopCallback asks(other.token(), [&] { seen = child.stop_requested(); });
  parent.request_stop();
  EXPECT_TRUE(seen);
}

TEST(Stop, ACallbackMayDestroyItselfItsNeighbourAndItsSource) {
  auto source = std::make_unique<StopSource>();
  const StopToken token = source->token();
  bool neighbour_ran = false;
  std::optional<StopCallback> first, second;
  first.emplace(token, [&] {
    first.reset();
    second.reset();
    source.reset();
  });
  second.emplace(token, [&] { neighbour_ran = true; });
  source->request_stop();
  EXPECT_FALSE(neighbour_ran);
  EXPECT_TRUE(token.stop_requested());
}

TEST(Stop, ACallbackMayRegisterAnother) {
  const StopSource source;
  bool inner_ran = false;
  std::optional<StopCallback> inner;
  StopCallback outer(source.token(), [&] { inner.emplace(source.token(), [&] { inner_ran = true; }); });
  source.request_stop();
  EXPECT_TRUE(inner_ran);
}

TEST(Stop, TheDestructorWaitsForACallbackThatRuns) {
  const StopSource source;
  std::latch entered(1);
  std::atomic<bool> release{false}, finished{false};
  auto callback = std::make_unique<StopCallback>(source.token(), [&] {
    entered.count_down();
    while (!release) std::this_thread::yield();
    finished = true;
  });
  std::thread stopper([&] { source.request_stop(); });
  entered.wait();
  std::thread releaser([&] { release = true; });
  callback.reset();
  EXPECT_TRUE(finished);
  stopper.join();
  releaser.join();
}

// The race between stopping and unregistering: after the destructor the callback's memory may be gone.
TEST(Stop, UnregisteringRacesWithStopping) {
  for (int round = 0; round < 300; ++round) {
    const StopSource source;
    std::atomic<int> ran{0};
    std::latch start(3);
    std::thread stopper([&] {
      start.arrive_and_wait();
      source.request_stop();
    });
    auto churn = [&] {
      start.arrive_and_wait();
      for (int i = 0; i < 20; ++i) {
        auto alive = std::make_unique<int>(1);
        StopCallback callback(source.token(), [&ran, memory = alive.get()] { ran += *memory; });
      }
    };
    std::thread a(churn), b(churn);
    stopper.join();
    a.join();
    b.join();
    EXPECT_LE(ran.load(), 40);
  }
}

TEST(Stop, OnlyOneOfManyThreadsIsFirst) {
  const StopSource source;
  std::atomic<int> firsts{0}, ran{0};
  StopCallback callback(source.token(), [&] { ++ran; });
  std::latch start(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      firsts += source.request_stop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(firsts.load(), 1);
  EXPECT_EQ(ran.load(), 1);
}

}  // namespace
}  // namespace shoal
