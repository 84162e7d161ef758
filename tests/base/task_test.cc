// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "shoal/base/virtual.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

Task<int> add(int a, int b) { co_return a + b; }
Task<int> sum_to(int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) sum = co_await add(sum, i);
  co_return sum;
}

TEST(Task, IsLazy) {
  bool ran = false;
  auto body = [](bool* flag) -> Task<void> {
    *flag = true;
    co_return;
  };
  Task<void> task = body(&ran);
  EXPECT_FALSE(ran);
  task.start();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(task.done());
}

TEST(Task, ChildrenThatFinishAtOnceCostNoStack) {
  Task<int> task = sum_to(60000);  // Deep recursion would overflow the stack.
  task.start();
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.take(), 1800030000);
}

TEST(Task, CarriesMoveOnlyValues) {
  auto make = []() -> Task<std::unique_ptr<std::string>> { co_return std::make_unique<std::string>("x"); };
  auto use = [](Task<std::unique_ptr<std::string>> child) -> Task<std::string> { co_return *co_await std::move(child); };
  Task<std::string> task = use(make());
  task.start();
  EXPECT_EQ(task.take(), "x");
}

struct Gate {
  std::coroutine_handle<> handle;
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> self) { handle = self; }
  void await_resume() {}
};

Task<int> through(Gate* gate, std::shared_ptr<int> held) {
  co_await *gate;
  co_return *held;
}
Task<int> twice(Gate* gate, std::shared_ptr<int> held) {
  const int value = co_await through(gate, held);
  co_return 2 * value;
}

TEST(Task, ResumesItsParentWhenTheChildWaited) {
  Gate gate;
  Task<int> task = twice(&gate, std::make_shared<int>(21));
  task.start();
  EXPECT_FALSE(task.done());
  gate.handle.resume();
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.take(), 42);
}

TEST(Task, DestroyingASuspendedTaskDestroysWhatItsFramesHold) {
  Gate gate;
  const auto held = std::make_shared<int>(1);
  {
    Task<int> task = twice(&gate, held);
    task.start();
    EXPECT_GT(held.use_count(), 1);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TaskDeathTest, AnExceptionIsShownAndEndsTheProcess) {
  auto body = []() -> Task<void> {
    throw std::runtime_error("not caught by call_user");
    co_return;
  };
  EXPECT_DEATH(body().start(), "a coroutine ended with an uncaught exception: not caught by call_user");
}

class TaskGroupTest : public testing::Test {
 protected:
  VirtualWorld world;
  Environment& env = world.add_task();
};

Task<Result<void>> wait_and_return(Environment& env, Duration delay, Result<void> result, StopToken stop,
                                   std::vector<int>* log, int id) {
  const Result<void> slept = co_await env.sleep_for(delay, stop);
  log->push_back(slept ? id : -id);
  if (!slept) co_return slept;
  co_return result;
}

TEST_F(TaskGroupTest, JoinsAfterAllChildren) {
  std::vector<int> log;
  auto body = [](Environment& e, std::vector<int>* l) -> Task<Result<void>> {
    TaskGroup group(e);
    group.spawn(wait_and_return(e, 3s, {}, group.token(), l, 3));
    group.spawn(wait_and_return(e, 1s, {}, group.token(), l, 1));
    group.spawn(wait_and_return(e, 2s, {}, group.token(), l, 2));
    EXPECT_EQ(group.running(), 3);
    SHOAL_CO_TRY_VOID(co_await group.join());
    l->push_back(4);
    EXPECT_EQ(group.running(), 0);
    co_return Result<void>();
  };
  EXPECT_TRUE(env.run(body(env, &log)));
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(world.now(), SteadyTime(3s));
}

TEST_F(TaskGroupTest, TheFirstFailureStopsTheOthersAndIsReported) {
  std::vector<int> log;
  auto body = [](Environment& e, std::vector<int>* l) -> Task<Result<void>> {
    TaskGroup group(e);
    group.spawn(wait_and_return(e, 5s, {}, group.token(), l, 1));
    group.spawn(wait_and_return(e, 1s, data_loss("segment 3"), group.token(), l, 2));
    group.spawn(wait_and_return(e, 9s, {}, group.token(), l, 3));
    co_return co_await group.join();
  };
  EXPECT_EQ(env.run(body(env, &log)).error(), data_loss("segment 3"));
  EXPECT_EQ(log, (std::vector<int>{2, -1, -3}));
  EXPECT_EQ(world.now(), SteadyTime(1s));
}

TEST_F(TaskGroupTest, ARealErrorCountsMoreThanCancelled) {
  std::vector<int> log;
  auto body = [](Environment& e, std::vector<int>* l) -> Task<Result<void>> {
    TaskGroup group(e);
    group.spawn(wait_and_return(e, 1s, cancelled(), group.token(), l, 1));
    group.spawn(wait_and_return(e, 1s, unavailable("peer"), {}, l, 2));
    group.spawn(wait_and_return(e, 2s, data_loss("later"), {}, l, 3));
    co_return co_await group.join();
  };
  EXPECT_EQ(env.run(body(env, &log)).error(), unavailable("peer"));
}

TEST_F(TaskGroupTest, StopsFromOutside) {
  std::vector<int> log;
  StopSource outer;
  auto body = [](Environment& e, std::vector<int>* l, StopToken stop) -> Task<Result<void>> {
    TaskGroup group(e, stop);
    group.spawn(wait_and_return(e, 5s, {}, group.token(), l, 1));
    co_return co_await group.join();
  };
  env.post([&] { outer.request_stop(); });
  EXPECT_EQ(env.run(body(env, &log, outer.token())).error(), cancelled());
  auto requesting = [](Environment& e, std::vector<int>* l) -> Task<Result<void>> {
    TaskGroup group(e);
    group.spawn(wait_and_return(e, 5s, {}, group.token(), l, 2));
    group.request_stop();
    co_return co_await group.join();
  };
  EXPECT_EQ(env.run(requesting(env, &log)).error(), cancelled());
  EXPECT_EQ(world.now(), SteadyTime(0s));
}

TEST_F(TaskGroupTest, ChildrenMaySpawnAndEndedOnesHoldNothing) {
  const auto held = std::make_shared<int>(0);
  auto child = [](Environment& e, TaskGroup* group, std::shared_ptr<int> h, int depth, auto self) -> Task<Result<void>> {
    ++*h;
    SHOAL_CO_TRY_VOID(co_await e.sleep_for(1s));
    if (depth > 0) group->spawn(self(e, group, h, depth - 1, self));
    co_return Result<void>();
  };
  auto body = [](Environment& e, std::shared_ptr<int> h, auto spawn) -> Task<Result<void>> {
    TaskGroup group(e);
    group.spawn(spawn(e, &group, h, 9, spawn));
    SHOAL_CO_TRY_VOID(co_await e.sleep_for(3500ms));
    EXPECT_EQ(h.use_count(), 3);  // The test, this frame and the one child that runs hold it.
    co_return co_await group.join();
  };
  EXPECT_TRUE(env.run(body(env, held, child)));
  EXPECT_EQ(*held, 10);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(TaskGroupTest, AGroupThatWasNotJoinedIsABrokenInvariant) {
  std::vector<int> log;
  auto body = [](Environment& e, std::vector<int>* l) -> Task<Result<void>> {
    TaskGroup group(e);
    group.spawn(wait_and_return(e, 5s, {}, group.token(), l, 1));
    co_return Result<void>();
  };
  EXPECT_DEATH(static_cast<void>(env.run(body(env, &log))), "broken invariant");
}

class EventTest : public testing::Test {
 protected:
  VirtualWorld world;
  Environment& env = world.add_task();
  Event event{env};
};

Task<Result<void>> wait_on(Event* event, Environment& env, Duration patience, StopToken stop, std::vector<int>* log,
                           int id) {
  const Result<void> result = co_await event->wait("pushes", env.after(patience), stop);
  log->push_back(result ? id : -id);
  co_return result;
}

TEST_F(EventTest, WakesEveryoneInTheOrderTheyCame) {
  std::vector<int> log;
  auto body = [](Environment& e, Event* ev, std::vector<int>* l) -> Task<Result<void>> {
    TaskGroup group(e);
    for (int id = 1; id <= 3; ++id) group.spawn(wait_on(ev, e, 10s, {}, l, id));
    SHOAL_CO_TRY_VOID(co_await e.sleep_for(1s));
    ev->notify_all();
    EXPECT_TRUE(l->empty());  // The waiting tasks resume on the strand, later.
    co_return co_await group.join();
  };
  EXPECT_TRUE(env.run(body(env, &event, &log)));
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(world.now(), SteadyTime(1s));
}

TEST_F(EventTest, GivesUpAtTheDeadlineNamingWhatItWaitedFor) {
  std::vector<int> log;
  EXPECT_EQ(env.run(wait_on(&event, env, 2s, {}, &log, 1)).error(), deadline_exceeded("waiting for pushes"));
  EXPECT_EQ(world.now(), SteadyTime(2s));
  event.notify_all();  // Nobody is left to wake.
}

TEST_F(EventTest, IsCancelledByItsToken) {
  std::vector<int> log;
  const StopSource source;
  env.post([&] { source.request_stop(); });
  EXPECT_EQ(env.run(wait_on(&event, env, 2s, source.token(), &log, 1)).error(), cancelled());
  EXPECT_EQ(env.run(wait_on(&event, env, 2s, source.token(), &log, 1)).error(), cancelled());
  EXPECT_EQ(world.now(), SteadyTime(0s));
}

TEST_F(EventTest, WaitsWithoutADeadline) {
  auto body = [](Environment& e, Event* ev) -> Task<Result<void>> {
    const auto notify = [](Environment& inner, Event* target) -> Task<Result<void>> {
      SHOAL_CO_TRY_VOID(co_await inner.sleep_for(240h));
      target->notify_all();
      co_return Result<void>();
    };
    TaskGroup group(e);
    group.spawn(notify(e, ev));
    SHOAL_CO_TRY_VOID(co_await ev->wait("the notice", kNoDeadline));
    co_return co_await group.join();
  };
  EXPECT_TRUE(env.run(body(env, &event)));
  EXPECT_EQ(world.now(), SteadyTime(240h));
}

TEST_F(EventTest, TheEndOfTheEventCancelsItsWaits) {
  std::vector<int> log;
  auto own = std::make_unique<Event>(env);
  Event* raw = own.get();
  env.post([&] { env.post([&] { own.reset(); }); });  // The second runs after the wait has begun.
  EXPECT_EQ(env.run(wait_on(raw, env, 2s, {}, &log, 1)).error(), cancelled());
}

// A waiter that was notified and then asked to stop in the same turn was notified.
TEST_F(EventTest, NoticeWinsOverALaterStop) {
  std::vector<int> log;
  const StopSource source;
  env.post([&] {
    env.post([&] {
      event.notify_all();
      source.request_stop();
    });
  });
  EXPECT_TRUE(env.run(wait_on(&event, env, 2s, source.token(), &log, 1)));
}

}  // namespace
}  // namespace shoal
