// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/channel.h"

#include <gtest/gtest.h>

#include "two_tasks.h"

namespace shoal::transport {
namespace {

struct Counted {
  int ready = 0;
  int credit = 0;
  Channel channel{300, [this] { ++ready; }, [this] { ++credit; }};  // Room for three bodiless messages.
};

TEST(Channel, WakesTheConsumerOncePerBurst) {
  Counted c;
  Message message = numbered(1);
  EXPECT_EQ(c.channel.push(message), Channel::Push::kDone);
  EXPECT_EQ(c.ready, 0);  // Nobody has asked.
  EXPECT_EQ((*c.channel.pop_or_arm())->head.sequence, 1u);
  EXPECT_FALSE(*c.channel.pop_or_arm());
  for (uint64_t i = 2; i < 5; ++i) {
    message = numbered(i);
    EXPECT_EQ(c.channel.push(message), Channel::Push::kDone);
  }
  EXPECT_EQ(c.ready, 1);
}

TEST(Channel, RefusesBeyondItsBoundAndAnnouncesCreditOnce) {
  Counted c;
  Message message;
  for (uint64_t i = 1; i <= 4; ++i) {
    message = numbered(i);
    EXPECT_EQ(c.channel.push(message), Channel::Push::kDone) << "fewer than 300 bytes queued before number " << i;
  }
  message = numbered(5);
  EXPECT_EQ(c.channel.push_or_wait(message), Channel::Push::kFull);
  EXPECT_EQ(message.head.sequence, 5u);
  EXPECT_TRUE(c.channel.pop());
  EXPECT_TRUE(c.channel.pop());
  EXPECT_TRUE(c.channel.pop());
  EXPECT_EQ(c.credit, 1);
  Message overtaker = numbered(9);
  EXPECT_EQ(c.channel.push(overtaker), Channel::Push::kFull);  // Someone stands in line.
  EXPECT_EQ(c.channel.push_waiting(message), Channel::Push::kDone);
  c.channel.stop_waiting();
  EXPECT_EQ(c.channel.push(overtaker), Channel::Push::kDone);
}

TEST(Channel, DrainsAfterTheEnd) {
  Counted c;
  Message message = numbered(1);
  (void)c.channel.push(message);
  c.channel.close(unavailable("first"));
  c.channel.close(unavailable("second"));
  message = numbered(2);
  EXPECT_EQ(c.channel.push(message), Channel::Push::kClosed);
  EXPECT_EQ(c.channel.push_waiting(message), Channel::Push::kClosed);
  EXPECT_EQ((*c.channel.pop_or_arm())->head.sequence, 1u);
  EXPECT_EQ(c.channel.pop_or_arm().error(), unavailable("first"));
}

TEST(Channel, ReasonsThatMeanNothingElsewhereBecomeUnavailable) {
  EXPECT_EQ(closing_reason(cancelled()).kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(closing_reason(end_of_input()).kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(closing_reason(deadline_exceeded("x")), unavailable("x"));
  EXPECT_EQ(closing_reason(failed_precondition("x")), failed_precondition("x"));
}

// ---- WaitQueue ------------------------------------------------------------------------------------------------------

TEST(WaitQueue, EndsEachWaitAtItsOwnDeadline) {
  VirtualWorld world;
  Environment& env = world.add_task();
  const auto queue = std::make_shared<WaitQueue>(env);
  const SteadyTime start = env.now();
  std::vector<std::pair<int, Duration>> ended;
  const auto waits = [&](int id, Duration delay) -> Task<Result<void>> {
    auto wait = queue->wait(env.after(delay));
    const WaitEnd end = co_await wait;
    EXPECT_EQ(end, WaitEnd::kDeadline);
    ended.emplace_back(id, env.now() - start);
    co_return Result<void>();
  };
  const auto all = [&]() -> Task<Result<void>> {
    TaskGroup group(env);
    group.spawn(waits(1, std::chrono::seconds(5)));
    group.spawn(waits(2, std::chrono::seconds(2)));  // This deadline is earlier than the armed timer.
    group.spawn(waits(3, std::chrono::seconds(9)));
    group.spawn(waits(4, std::chrono::seconds(0)));
    co_return co_await group.join();
  };
  EXPECT_TRUE(env.run(all()));
  using std::chrono::seconds;
  EXPECT_EQ(ended,
            (std::vector<std::pair<int, Duration>>{{4, seconds(0)}, {2, seconds(2)}, {1, seconds(5)}, {3, seconds(9)}}));
}

TEST(WaitQueue, WakesInOrderAndOnlyThoseOfNow) {
  VirtualWorld world;
  Environment& env = world.add_task();
  const auto queue = std::make_shared<WaitQueue>(env);
  std::vector<int> woken;
  const auto waits = [&](int id, int times) -> Task<Result<void>> {
    for (int i = 0; i < times; ++i) {
      auto wait = queue->wait(kNoDeadline);
      const WaitEnd end = co_await wait;
      EXPECT_EQ(end, WaitEnd::kWoken);
      woken.push_back(id);
    }
    co_return Result<void>();
  };
  const auto all = [&]() -> Task<Result<void>> {
    TaskGroup group(env);
    for (int id = 1; id <= 3; ++id) group.spawn(waits(id, 2));
    queue->wake_first();  // Wakes 1, which then waits again, behind 3.
    EXPECT_EQ(woken, (std::vector<int>{1}));
    queue->wake_all();
    EXPECT_EQ(woken, (std::vector<int>{1, 2, 3, 1}));
    queue->wake_all();
    EXPECT_EQ(woken, (std::vector<int>{1, 2, 3, 1, 2, 3}));
    EXPECT_TRUE(queue->empty());
    co_return co_await group.join();
  };
  EXPECT_TRUE(env.run(all()));
}

TEST(WaitQueue, ForgetsACoroutineThatIsDestroyed) {
  VirtualWorld world;
  Environment& env = world.add_task();
  const auto queue = std::make_shared<WaitQueue>(env);
  const auto waits = [&](Deadline deadline) -> Task<Result<void>> {
    auto wait = queue->wait(deadline);
    co_await wait;
    ADD_FAILURE() << "it was destroyed";
    co_return Result<void>();
  };
  const auto all = [&]() -> Task<Result<void>> {
    {
      Task<Result<void>> dropped = waits(env.after(std::chrono::seconds(1)));
      dropped.start();
      EXPECT_FALSE(queue->empty());
    }
    EXPECT_TRUE(queue->empty());
    queue->wake_all();
    co_return co_await env.sleep_for(std::chrono::seconds(2));
  };
  EXPECT_TRUE(env.run(all()));
}

TEST(WaitQueue, AKilledTaskLearnsIt) {
  VirtualWorld world;
  Environment& env = world.add_task();
  const auto queue = std::make_shared<WaitQueue>(env);
  std::vector<WaitEnd> ends;
  const auto waits = [&](Deadline deadline) -> Task<Result<void>> {
    auto wait = queue->wait(deadline);
    const WaitEnd end = co_await wait;
    ends.push_back(end);
    co_return Result<void>();
  };
  Task<Result<void>> one = waits(kNoDeadline), two = waits(env.after(std::chrono::seconds(5)));
  env.post([&] { one.start(), two.start(); });
  EXPECT_TRUE(world.run_for(std::chrono::seconds(1)) || true);
  world.kill(env);
  world.run_for(std::chrono::seconds(1));
  EXPECT_EQ(ends, (std::vector<WaitEnd>{WaitEnd::kCancelled, WaitEnd::kCancelled}));
}

}  // namespace
}  // namespace shoal::transport
