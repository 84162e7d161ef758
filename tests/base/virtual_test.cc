// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/virtual.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "shoal/base/event_loop.h"
#include "temporary_folder.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

Task<Result<void>> sleep_and_log(Environment& env, Duration delay, std::vector<std::string>* log, std::string name) {
  const Result<void> slept = co_await env.sleep_for(delay);
  log->push_back(name + (slept ? "" : " cancelled"));
  co_return slept;
}

/// Tasks that were started and not awaited, kept until the test ends.
struct Started {
  std::vector<std::unique_ptr<Task<Result<void>>>> tasks;
  void start(Environment& env, Task<Result<void>> task) {
    tasks.push_back(std::make_unique<Task<Result<void>>>(std::move(task)));
    env.post([raw = tasks.back().get()] { raw->start(); });
  }
};

TEST(VirtualWorld, TimeJumpsToTheNextTimerOfAnyTask) {
  VirtualWorld world;
  Environment& a = world.add_task({.task = "a"});
  Environment& b = world.add_task({.task = "b"});
  std::vector<std::string> log;
  Started started;
  started.start(a, sleep_and_log(a, 30s, &log, "a30"));
  started.start(b, sleep_and_log(b, 10s, &log, "b10"));
  started.start(a, sleep_and_log(a, 20s, &log, "a20"));
  started.start(b, sleep_and_log(b, 20s, &log, "b20"));  // It is asked after a20, so it comes after it.
  EXPECT_FALSE(world.run_for(10s));
  EXPECT_EQ(log, (std::vector<std::string>{"b10"}));
  EXPECT_EQ(world.now(), SteadyTime(10s));
  EXPECT_EQ(b.now(), SteadyTime(10s));
  EXPECT_TRUE(world.run_for(600s));
  EXPECT_EQ(log, (std::vector<std::string>{"b10", "a20", "b20", "a30"}));
  EXPECT_EQ(world.now(), SteadyTime(610s));
}

TEST(VirtualWorld, RunDrivesTheOtherTasksToo) {
  VirtualWorld world;
  Environment& a = world.add_task();
  Environment& b = world.add_task();
  std::vector<std::string> log;
  Started started;
  started.start(b, sleep_and_log(b, 1s, &log, "b"));
  EXPECT_TRUE(a.run(sleep_and_log(a, 2s, &log, "a")));
  EXPECT_EQ(log, (std::vector<std::string>{"b", "a"}));
}

TEST(VirtualWorld, PostedWorkRunsInOrderOnItsOwnStrand) {
  VirtualWorld world;
  Environment& a = world.add_task();
  Environment& b = world.add_task();
  std::vector<int> order;
  a.post([&] {
    EXPECT_TRUE(a.on_strand());
    EXPECT_FALSE(b.on_strand());
    order.push_back(1);
    a.post([&] { order.push_back(3); });
  });
  b.post([&] {
    EXPECT_TRUE(b.on_strand());
    order.push_back(2);
  });
  EXPECT_TRUE(order.empty());
  EXPECT_FALSE(a.on_strand());
  EXPECT_TRUE(world.run_until(SteadyTime::max()));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(VirtualWorld, ASleepEndsWithItsToken) {
  VirtualWorld world;
  Environment& env = world.add_task();
  const StopSource source;
  auto body = [](Environment& e, StopToken stop) -> Task<Result<void>> { co_return co_await e.sleep_for(100s, stop); };
  env.post([&] { source.request_stop(); });
  EXPECT_EQ(env.run(body(env, source.token())).error(), cancelled());
  EXPECT_EQ(world.now(), SteadyTime(0s));
  EXPECT_EQ(env.run(body(env, source.token())).error(), cancelled());
}

TEST(VirtualWorld, OffloadedWorksTakeTheirTimeOneAfterAnother) {
  VirtualWorld world;
  Environment& env = world.add_task({.offload_duration = 2s});
  std::vector<std::pair<int, double>> began;
  auto work = [](Environment& e, std::vector<std::pair<int, double>>* log, int id) -> Task<Result<void>> {
    Work job = [&e, log, id] {
      EXPECT_FALSE(e.on_strand());
      log->push_back({id, to_seconds(e.now().time_since_epoch())});
    };
    SHOAL_CO_TRY_VOID(co_await e.offload(std::move(job)));
    EXPECT_TRUE(e.on_strand());
    log->push_back({-id, to_seconds(e.now().time_since_epoch())});
    co_return Result<void>();
  };
  auto body = [](Environment& e, auto make, std::vector<std::pair<int, double>>* log) -> Task<Result<void>> {
    TaskGroup group(e);
    group.spawn(make(e, log, 1));
    group.spawn(make(e, log, 2));
    co_return co_await group.join();
  };
  EXPECT_TRUE(env.run(body(env, work, &began)));
  EXPECT_EQ(began, (std::vector<std::pair<int, double>>{{1, 0}, {2, 2}, {-1, 2}, {-2, 4}}));
}

TEST(VirtualWorld, OtherWorkRunsBesideAnOffload) {
  VirtualWorld world;
  Environment& env = world.add_task();
  std::vector<int> order;
  auto body = [](Environment& e, std::vector<int>* log) -> Task<Result<void>> {
    e.post([log] { log->push_back(1); });
    Work job = [log] { log->push_back(2); };
    SHOAL_CO_TRY_VOID(co_await e.offload(std::move(job)));
    log->push_back(3);
    co_return Result<void>();
  };
  EXPECT_TRUE(env.run(body(env, &order)));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(VirtualWorld, PoolJobsRunInlineAndNestedOnesAfterwards) {
  VirtualWorld world;
  JobPool& pool = world.add_task().pool();
  std::vector<int> order;
  EXPECT_TRUE(pool.submit([&] {
    EXPECT_TRUE(pool.submit([&] { order.push_back(2); }));
    order.push_back(1);
  }));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(pool.threads(), 1);
}

TEST(VirtualWorld, ParallelForCoversTheRangeInChunks) {
  VirtualWorld world;
  std::vector<std::pair<int64_t, int64_t>> chunks;
  world.add_task().parallel_for(10, 4, [&](int64_t begin, int64_t end) { chunks.emplace_back(begin, end); });
  EXPECT_EQ(chunks, (std::vector<std::pair<int64_t, int64_t>>{{0, 4}, {4, 8}, {8, 10}}));
}

TEST(VirtualWorld, TheSameSeedReplaysTheSameEntropy) {
  auto draw = [](uint64_t seed) {
    VirtualWorld world(seed);
    Environment& a = world.add_task();
    Environment& b = world.add_task();
    return std::vector<uint64_t>{a.entropy(), a.entropy(), b.entropy()};
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  EXPECT_NE(draw(1)[0], draw(1)[1]);
  EXPECT_NE(draw(1)[0], draw(1)[2]);
}

TEST(VirtualWorld, WallTimeGoesWithVirtualTime) {
  VirtualWorld world;
  std::vector<WallTime> times;
  Environment& env = world.add_task({.sink = [&](const LogRecord& record) { times.push_back(record.time); }});
  env.log().info("a");
  world.run_for(90s);
  env.log().info("b");
  EXPECT_EQ(times[1] - times[0], 90s);
}

TEST(VirtualWorld, InterruptStopsTheToken) {
  VirtualWorld world;
  Environment& a = world.add_task();
  Environment& b = world.add_task();
  auto body = [](Environment& e) -> Task<Result<void>> { co_return co_await e.sleep_for(100s, e.interrupted()); };
  a.post([&] { world.interrupt(a); });
  EXPECT_EQ(a.run(body(a)).error(), cancelled());
  EXPECT_TRUE(a.interrupted().stop_requested());
  EXPECT_FALSE(b.interrupted().stop_requested());
}

TEST(VirtualWorld, KillEndsEveryWaitAndDropsWhatWasPosted) {
  VirtualWorld world;
  Environment& victim = world.add_task({.offload_duration = 5s});
  Environment& other = world.add_task();
  std::vector<std::string> log;
  Started started;
  auto offloading = [](Environment& e, std::vector<std::string>* l) -> Task<Result<void>> {
    Work first = [l] { l->push_back("first work"); };
    Work second = [l] { l->push_back("second work"); };
    TaskGroup group(e);
    group.spawn(e.offload(std::move(first)));
    group.spawn(e.offload(std::move(second)));
    const Result<void> joined = co_await group.join();
    l->push_back("group " + std::string(to_string(joined.error().kind())));
    co_return joined;
  };
  started.start(victim, sleep_and_log(victim, 10s, &log, "v10"));
  started.start(victim, offloading(victim, &log));
  started.start(other, sleep_and_log(other, 10s, &log, "o10"));
  world.run_for(1s);
  victim.post([&] { log.push_back("posted before"); });
  world.kill(victim);
  victim.post([&] { log.push_back("posted after"); });
  EXPECT_TRUE(world.run_for(100s));
  EXPECT_EQ(log, (std::vector<std::string>{"first work", "v10 cancelled", "group Cancelled", "o10"}));
  for (const auto& task : started.tasks) EXPECT_TRUE(task->done());
}

TEST(VirtualWorld, AKilledTaskCanDoNothing) {
  TemporaryFolder folder;
  VirtualWorld world;
  Environment& env = world.add_task();
  auto file = env.storage().create(folder / "open");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file.value()->append(std::as_bytes(std::span("abc", 3))));
  world.kill(env);
  EXPECT_EQ(file.value()->close().error(), cancelled());
  file.value().reset();
  EXPECT_EQ(make_file_storage()->read_all(folder / "open").value(), "");  // What was not flushed is lost.
  Storage& disk = env.storage();
  for (const Error& error :
       {disk.create(folder / "x").error(), disk.append(folder / "open").error(), disk.open(folder / "open").error(),
        disk.rename(folder / "open", folder / "y").error(), disk.remove(folder / "open").error(),
        disk.remove_all(folder / "open").error(), disk.make_folders(folder / "z").error(),
        disk.sync_folder(folder.path()).error(), disk.list(folder.path()).error(), env.transport("inproc").error()}) {
    EXPECT_EQ(error, cancelled());
  }
  EXPECT_FALSE(disk.exists(folder / "open"));
  EXPECT_TRUE(make_file_storage()->exists(folder / "open"));
  bool ran = false;
  EXPECT_FALSE(env.pool().submit([&] { ran = true; }));
  auto body = [](Environment& e, bool* flag) -> Task<Result<void>> {
    Work job = [flag] { *flag = true; };
    EXPECT_EQ((co_await e.offload(std::move(job))).error(), cancelled());
    co_return co_await e.sleep_for(1s);
  };
  EXPECT_EQ(env.run(body(env, &ran)).error(), cancelled());
  EXPECT_FALSE(ran);
}

TEST(VirtualWorld, ATaskMayKillItself) {
  VirtualWorld world;
  Environment& env = world.add_task();
  auto body = [](Environment& e, VirtualWorld* w) -> Task<Result<void>> {
    SHOAL_CO_TRY_VOID(co_await e.sleep_for(1s));
    w->kill(e);
    co_return co_await e.sleep_for(1s);
  };
  EXPECT_EQ(env.run(body(env, &world)).error(), cancelled());
}

TEST(VirtualWorld, ItsEndForgetsWhoStillWaits) {
  Started started;
  std::vector<std::string> log;
  {
    VirtualWorld world;
    Environment& env = world.add_task();
    started.start(env, sleep_and_log(env, 10s, &log, "never"));
    started.start(env, [](Environment& e) -> Task<Result<void>> { co_return co_await e.sleep_until(kNoDeadline); }(env));
    world.run_for(1s);
  }
  EXPECT_TRUE(log.empty());
}

Task<Result<void>> sleeps(Environment& env, int count, Duration pause) {
  for (int i = 0; i < count; ++i) SHOAL_CO_TRY_VOID(co_await env.sleep_for(pause));
  co_return Result<void>{};
}

TEST(VirtualWorld, ProgramsWaitInRunWhileOthersGoOn) {
  VirtualWorld world;
  std::vector<std::string> log;
  const auto program = [&world, &log](Environment& env, std::string name, Duration pause) {
    return world.start(env, [&log, &env, name, pause] {
      for (int i = 0; i < 2; ++i) {
        value_or_raise(env.run(sleeps(env, 1, pause)));
        log.push_back(name + " " + std::to_string(i));
      }
      if (name == "b") raise(unavailable("b is tired"));
    });
  };
  Environment& a = world.add_task({.task = "a"});
  Environment& b = world.add_task({.task = "b"});
  const auto in_a = program(a, "a", 10s), in_b = program(b, "b", 6s);
  EXPECT_TRUE(log.empty());
  EXPECT_TRUE(world.run_for(60s));
  EXPECT_EQ(log, (std::vector<std::string>{"b 0", "a 0", "b 1", "a 1"}));
  ASSERT_TRUE(in_a->done() && in_b->done());
  EXPECT_TRUE(in_a->outcome());
  ASSERT_FALSE(in_b->outcome());
  EXPECT_EQ(in_b->outcome().error().message(), "b is tired");
}

TEST(VirtualWorld, AKilledProgramUnwinds) {
  VirtualWorld world;
  Environment& env = world.add_task();
  const auto program = world.start(env, [&env] { value_or_raise(env.run(sleeps(env, 100, 1s))); });
  world.run_for(10s);
  EXPECT_FALSE(program->done());
  world.kill(env);
  world.run_for(0s);
  ASSERT_TRUE(program->done());
  ASSERT_FALSE(program->outcome());
  EXPECT_EQ(program->outcome().error().kind(), ErrorKind::kCancelled);
}

TEST(VirtualWorld, ProgramsThatStillRunEndWithTheWorld) {
  std::shared_ptr<const VirtualProgram> program;
  {
    VirtualWorld world;
    Environment& env = world.add_task();
    program = world.start(env, [&env] { value_or_raise(env.run(sleeps(env, 100, 1s))); });
    world.run_for(10s);
    world.freeze(env);
  }
  EXPECT_TRUE(program->done());
}

TEST(VirtualWorld, WhatIsFrozenRunsWhenItThaws) {
  VirtualWorld world;
  Environment& a = world.add_task({.task = "a"});
  Environment& b = world.add_task({.task = "b"});
  std::vector<std::string> log;
  Started started;
  started.start(a, sleep_and_log(a, 10s, &log, "a10"));
  started.start(b, sleep_and_log(b, 20s, &log, "b20"));
  world.run_for(5s);
  world.freeze(a);
  EXPECT_TRUE(world.frozen(a));
  EXPECT_FALSE(world.run_for(60s));
  EXPECT_EQ(log, (std::vector<std::string>{"b20"}));
  world.thaw(a);
  EXPECT_TRUE(world.run_for(0s));
  EXPECT_EQ(log, (std::vector<std::string>{"b20", "a10"}));
}

/// Who went first, over many moments at which four tasks are due.
std::string order_of(VirtualWorldOptions options) {
  VirtualWorld world(options);
  std::vector<std::string> log;
  Started started;
  for (const char* name : {"a", "b", "c", "d"}) {
    Environment& env = world.add_task();
    for (int i = 0; i < 2; ++i) started.start(env, sleep_and_log(env, 1s, &log, name + std::to_string(i)));
  }
  world.run_for(10s);
  std::string text;
  for (const std::string& line : log) text += line;
  return text + " " + std::to_string(world.trace());
}

TEST(VirtualWorld, AShuffledWorldDrawsWhoGoesFirst) {
  EXPECT_TRUE(order_of({.seed = 1}).starts_with("a0a1b0b1c0c1d0d1"));
  std::set<std::string> orders;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string order = order_of({.seed = seed, .shuffled = true});
    EXPECT_EQ(order, order_of({.seed = seed, .shuffled = true}));
    for (const char* name : {"a", "b", "c", "d"})  // Each task's own things stay in order.
      EXPECT_LT(order.find(name + std::string("0")), order.find(name + std::string("1")));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 15u);
}

TEST(VirtualWorld, RarePathsAreCounted) {
  VirtualWorld world;
  Environment& env = world.add_task();
  env.sometimes("a.rare.path");
  env.sometimes("a.rare.path");
  EXPECT_EQ(world.marks().at("a.rare.path"), 2u);
}

TEST(VirtualWorld, ATaskMayDieAtACallOfItsStorage) {
  VirtualWorld world;
  TemporaryFolder folder;
  Environment* self = nullptr;
  int calls = 0;
  Environment& env = world.add_task({.before_storage_call = [&] {
    if (++calls == 4) world.kill(*self);  // The calls: create, append, sync, close, rename, sync the folder.
    return Duration(1s);
  }});
  self = &env;
  Result<void> written;
  Started started;
  started.start(env, [](Environment& of, std::string path, Result<void>* out) -> Task<Result<void>> {
    Work work = [&of, path, out] { *out = of.storage().write_atomically(path, "text"); };
    co_return co_await of.offload(std::move(work));
  }(env, folder.path() + "/file", &written));
  world.run_for(60s);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind(), ErrorKind::kCancelled);
  EXPECT_FALSE(make_file_storage()->exists(folder.path() + "/file"));
}

TEST(VirtualWorldDeathTest, ADeadlockIsNamed) {
  VirtualWorld world;
  Environment& env = world.add_task({.task = "worker 1"});
  auto body = [](Environment& e) -> Task<Result<void>> { co_return co_await e.sleep_until(kNoDeadline); };
  EXPECT_DEATH(static_cast<void>(env.run(body(env))), "deadlock: task \"worker 1\" waits, and nothing is left to run");
}

TEST(VirtualWorldDeathTest, AKilledTaskThatGoesOnForEverIsNamed) {
  VirtualWorld world;
  Environment& env = world.add_task({.task = "worker 1"});
  world.kill(env);
  auto body = [](Environment& e) -> Task<Result<void>> {
    for (;;) static_cast<void>(co_await e.sleep_for(1s));
  };
  EXPECT_DEATH(static_cast<void>(env.run(body(env))), "was killed but goes on");
}

TEST(VirtualWorld, KnowsNoSocketsAndNamesItsTransports) {
  VirtualWorld world;
  Environment& env = world.add_task();
  EXPECT_EQ(event_loop(env), nullptr);
  EXPECT_EQ(env.transport("tcp").error(), not_found("no transport \"tcp\" in this build; there are none"));
}

}  // namespace
}  // namespace shoal
