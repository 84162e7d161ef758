// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/production.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

#include "death_tests.h"
#include "shoal/base/cpu.h"
#include "shoal/base/event_loop.h"

namespace shoal::transport {
class Transport {};  // It is enough here that one can be made and found again: base knows only the name.
}  // namespace shoal::transport

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 30s;  // Far more than any of this takes: a wait that reaches it has failed.

std::unique_ptr<Environment> make(ProductionOptions options = {}) {
  return make_production_environment(std::move(options));
}

Task<Result<void>> wait_for(Event* event, Environment& env, const bool* condition) {
  const Deadline deadline = env.after(kPatience);
  while (!*condition) SHOAL_CO_TRY_VOID(co_await event->wait("the test's condition", deadline));
  co_return Result<void>();
}

TEST(Production, RunsATaskOnTheCallingThreadAgainAndAgain) {
  const auto env = make();
  auto body = [](Environment& e, std::thread::id* where, int result) -> Task<int> {
    EXPECT_TRUE(e.on_strand());
    *where = std::this_thread::get_id();
    static_cast<void>(co_await e.sleep_for(1ms));
    EXPECT_TRUE(e.on_strand());
    co_return result;
  };
  std::thread::id where;
  EXPECT_FALSE(env->on_strand());
  EXPECT_EQ(env->run(body(*env, &where, 1)), 1);
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_EQ(env->run(body(*env, &where, 2)), 2);
  std::thread other([&] { EXPECT_EQ(env->run(body(*env, &where, 3)), 3); });
  const std::thread::id other_id = other.get_id();
  other.join();
  EXPECT_EQ(where, other_id);
}

TEST(Production, TakesPostsFromManyThreads) {
  constexpr int kThreads = 4, kPosts = 2000;
  const auto env = make();
  Event all(*env);
  bool done = false;
  int count = 0;  // Only the strand touches it.
  std::vector<int> last(kThreads, -1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPosts; ++i) {
        env->post([&, t, i] {
          EXPECT_EQ(last[size_t(t)], i - 1);  // Each thread's posts run in their order.
          last[size_t(t)] = i;
          if (++count == kThreads * kPosts) {
            done = true;
            all.notify_all();
          }
        });
      }
    });
  }
  const Result<void> result = env->run(wait_for(&all, *env, &done));
  EXPECT_TRUE(result) << result.error().message();
  EXPECT_EQ(count, kThreads * kPosts);
  for (std::thread& thread : threads) thread.join();
}

TEST(Production, WhatIsLeftOverRunsWithTheNextRun) {
  const auto env = make();
  int ran = 0;
  auto nothing = []() -> Task<int> { co_return 1; };
  auto leaving = [](Environment& e, int* r) -> Task<int> {
    for (int i = 0; i < 3; ++i) e.post([r] { ++*r; });
    co_return 1;
  };
  env->post([&] { ++ran; });
  env->run(leaving(*env, &ran));
  EXPECT_EQ(ran, 1);
  auto sleeping = [](Environment& e) -> Task<Result<void>> { co_return co_await e.sleep_for(1ms); };
  EXPECT_TRUE(env->run(sleeping(*env)));
  EXPECT_EQ(ran, 4);
  EXPECT_EQ(env->run(nothing()), 1);
}

TEST(Production, SleepsInOrderAndNotTooShort) {
  const auto env = make();
  std::vector<int> order;
  auto sleeper = [](Environment& e, Duration delay, std::vector<int>* log, int id) -> Task<Result<void>> {
    const SteadyTime when = e.after(delay);
    SHOAL_CO_TRY_VOID(co_await e.sleep_until(when));
    EXPECT_GE(e.now(), when);
    log->push_back(id);
    co_return Result<void>();
  };
  auto body = [](Environment& e, auto sleep, std::vector<int>* log) -> Task<Result<void>> {
    TaskGroup group(e);
    group.spawn(sleep(e, 30ms, log, 3));
    group.spawn(sleep(e, 10ms, log, 1));
    group.spawn(sleep(e, 20ms, log, 2));
    group.spawn(sleep(e, -5ms, log, 0));
    co_return co_await group.join();
  };
  EXPECT_TRUE(env->run(body(*env, sleeper, &order)));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Production, AStopFromAnotherThreadEndsASleep) {
  for (int round = 0; round < 200; ++round) {
    const auto env = make();
    const StopSource source;
    auto body = [](Environment& e, StopToken stop, Duration d) -> Task<Result<void>> {
      co_return co_await e.sleep_for(d, stop);
    };
    std::thread stopper([&] { source.request_stop(); });
    // Every other round the timer races with the stop.
    const Result<void> result = env->run(body(*env, source.token(), round % 2 == 0 ? Duration(kPatience) : Duration(20us)));
    if (round % 2 == 0) {
      EXPECT_EQ(result.error(), cancelled());
    }
    stopper.join();
  }
}

TEST(Production, ASleepDestroyedBeforeItsEndIsForgotten) {
  const auto env = make();
  auto body = [](Environment& e) -> Task<Result<void>> {
    auto sleeping = [](Environment& inner) -> Task<Result<void>> { co_return co_await inner.sleep_for(1ms); };
    {
      Task<Result<void>> task = sleeping(e);
      task.start();
      Task<Result<void>> woken = e.sleep_for(-1s);  // It is destroyed while its end is queued.
      woken.start();
    }
    co_return co_await e.sleep_for(3ms);
  };
  EXPECT_TRUE(env->run(body(*env)));
}

TEST(Production, OffloadsInOrderOnOneThreadOfItsOwn) {
  const auto env = make();
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  auto body = [](Environment& e, std::vector<int>* log, std::vector<std::thread::id>* ids) -> Task<Result<void>> {
    TaskGroup group(e);
    for (int i = 0; i < 100; ++i) {
      Work work = [&e, log, ids, i] {
        EXPECT_FALSE(e.on_strand());
        log->push_back(i);
        ids->push_back(std::this_thread::get_id());
      };
      group.spawn(e.offload(std::move(work)));
    }
    co_return co_await group.join();
  };
  EXPECT_TRUE(env->run(body(*env, &order, &threads)));
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
  for (std::thread::id id : threads) EXPECT_EQ(id, threads[0]);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(Production, TheStrandGoesOnBesideAnOffload) {
  const auto env = make();
  auto body = [](Environment& e) -> Task<Result<void>> {
    std::latch posted(1);
    e.post([&posted] { posted.count_down(); });
    Work work = [&posted] { posted.wait(); };  // It ends only if the strand is free meanwhile.
    co_return co_await e.offload(std::move(work));
  };
  EXPECT_TRUE(env->run(body(*env)));
}

TEST(Production, AnOffloadDestroyedWhileItRunsIsWaitedFor) {
  const auto env = make();
  std::latch began(1);
  std::atomic<bool> release{false}, ended{false}, second_ran{false};
  auto body = [](Environment& e, std::latch* b, std::atomic<bool>* r, std::atomic<bool>* f,
                 std::atomic<bool>* s) -> Task<Result<void>> {
    Work first = [b, r, f] {
      b->count_down();
      while (!*r) std::this_thread::yield();
      *f = true;
    };
    Work second = [s] { *s = true; };
    Task<Result<void>> running = e.offload(std::move(first));
    Task<Result<void>> waiting = e.offload(std::move(second));
    running.start();
    waiting.start();
    b->wait();
    waiting = {};
    *r = true;
    running = {};
    EXPECT_TRUE(*f);
    co_return co_await e.sleep_for(1ms);
  };
  EXPECT_TRUE(env->run(body(*env, &began, &release, &ended, &second_ran)));
  EXPECT_FALSE(second_ran);
}

TEST(Production, EndsWithCoroutinesStillWaiting) {
  std::vector<Task<Result<void>>> left;
  std::atomic<bool> release{false};
  std::latch began(1);
  {
    const auto env = make();
    auto body = [](Environment& e, std::vector<Task<Result<void>>>* tasks, std::latch* b,
                   std::atomic<bool>* r) -> Task<Result<void>> {
      Work first = [b, r] {
        b->count_down();
        while (!*r) std::this_thread::yield();
      };
      Work second = [] {};
      tasks->push_back(e.offload(std::move(first)));
      tasks->push_back(e.offload(std::move(second)));
      tasks->push_back(e.sleep_for(1h));
      tasks->push_back(e.sleep_for(-1s));
      tasks->push_back(e.sleep_until(kNoDeadline));
      for (auto& task : *tasks) task.start();
      b->wait();  // The first is running when the environment ends, the second waits.
      co_return Result<void>();
    };
    EXPECT_TRUE(env->run(body(*env, &left, &began, &release)));
    env->post([] { ADD_FAILURE() << "nobody runs this"; });
    release = true;
  }
  for (const auto& task : left) EXPECT_FALSE(task.done());
}

TEST(Production, InlineOffloadRunsOnTheStrandsThreadAndLetsOthersIn) {
  const auto env = make({.offload_inline = true});
  auto body = [](Environment& e) -> Task<Result<void>> {
    bool posted_ran = false, timer_ran = false, from_thread = false;
    e.post([&posted_ran] { posted_ran = true; });
    auto timer = [](Environment& inner, bool* flag) -> Task<Result<void>> {
      SHOAL_CO_TRY_VOID(co_await inner.sleep_for(5ms));
      *flag = true;
      co_return Result<void>();
    };
    TaskGroup group(e);
    group.spawn(timer(e, &timer_ran));
    std::thread other([&e, &from_thread] { e.post([&from_thread] { from_thread = true; }); });
    const SteadyTime give_up = e.after(kPatience);
    int works = 0;
    while (!(posted_ran && timer_ran && from_thread && works > 10) && e.now() < give_up) {
      Work work = [&e, &works, strand = std::this_thread::get_id()] {
        EXPECT_EQ(std::this_thread::get_id(), strand);
        EXPECT_FALSE(e.on_strand());
        ++works;
      };
      SHOAL_CO_TRY_VOID(co_await e.offload(std::move(work)));
    }
    other.join();
    EXPECT_TRUE(posted_ran && timer_ran && from_thread);
    co_return co_await group.join();
  };
  EXPECT_TRUE(env->run(body(*env)));
}

TEST(Production, ParallelForCoversEveryElementOnceWithFixedBorders) {
  for (int threads : {1, 2, 4}) {
    const auto env = make({.pool_threads = threads});
    EXPECT_EQ(env->pool().threads(), threads);
    for (int64_t count : {0, 1, 7, 64, 1000, 1001}) {
      std::vector<std::atomic<int>> touched(static_cast<size_t>(count));
      std::atomic<int> bad_borders{0};
      env->parallel_for(count, 64, [&](int64_t begin, int64_t end) {
        bad_borders += begin % 64 != 0 || (end != count && end != begin + 64) || end <= begin;
        for (int64_t i = begin; i < end; ++i) ++touched[size_t(i)];
      });
      for (auto& element : touched) ASSERT_EQ(element.load(), 1);
      EXPECT_EQ(bad_borders.load(), 0);
    }
  }
}

TEST(Production, ParallelForEndsThoughThePoolIsBusyAndFromSeveralThreads) {
  const auto env = make({.pool_threads = 2});
  std::atomic<bool> release{false};
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(env->pool().submit([&] {
      while (!release) std::this_thread::yield();
    }));
  std::atomic<int64_t> sum{0};
  const auto add = [&] { env->parallel_for(100, 1, [&](int64_t begin, int64_t) { sum += begin; }); };
  std::thread other(add);
  add();
  other.join();
  EXPECT_EQ(sum.load(), 2 * 4950);
  release = true;
  for (int round = 0; round < 500; ++round) add();
  EXPECT_EQ(sum.load(), 502 * 4950);
}

TEST(Production, PoolRunsItsJobsAndDropsTheRestAtTheEnd) {
  std::atomic<int> ran{0};
  std::latch all(100);
  {
    const auto env = make({.pool_threads = 3});
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(env->pool().submit([&] {
        ++ran;
        all.count_down();
      }));
    }
    all.wait();
    EXPECT_EQ(ran.load(), 100);
    for (int i = 0; i < 1000; ++i) env->pool().submit([&] { ++ran; });
  }
  EXPECT_LE(ran.load(), 1100);  // ThreadSanitizer sees that no thread outlives the environment.
}

#if defined(__SSE2__) || defined(__aarch64__)
TEST(Production, DenormalsCountAsZeroWhereTensorsAreTouched) {
  const auto vanishes = [] {
    volatile float tiny = 1e-38f;
    return tiny * 0.01f == 0.0f;
  };
  ASSERT_FALSE(vanishes());
  const auto env = make();
  auto body = [](Environment& e, auto check, std::array<bool, 3>* results) -> Task<Result<void>> {
    (*results)[0] = check();
    Work compute = [check, results] { (*results)[1] = check(); };
    SHOAL_CO_TRY_VOID(co_await e.offload(std::move(compute)));
    std::latch done(1);
    e.pool().submit([check, results, &done] {
      (*results)[2] = check();
      done.count_down();
    });
    done.wait();
    co_return Result<void>();
  };
  std::array<bool, 3> results{};
  EXPECT_TRUE(env->run(body(*env, vanishes, &results)));
  EXPECT_TRUE(results[0] && results[1] && results[2]);
  const auto local = make({.offload_inline = true});
  results = {};
  EXPECT_TRUE(local->run(body(*local, vanishes, &results)));
  EXPECT_TRUE(results[0] && results[1] && results[2]);
}

/// How floats are rounded. (fegetround() asks another unit of the processor on x86.)
bool rounds_down() {
  volatile float one = 1, three = 3;
  return one / three < 0x1.555556p-2f;
}

TEST(Production, ACallerKeepsItsFloatingPointMode) {
  const auto calls = [](Task<Result<void>> (*body)(Environment&)) {
    std::fesetround(FE_DOWNWARD);
    std::feclearexcept(FE_ALL_EXCEPT);
    const auto env = make({.offload_inline = true});
    const Result<void> ran = env->run(body(*env));
    EXPECT_TRUE(rounds_down());
    EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO), 0);
    volatile float tiny = 1e-38f;
    EXPECT_NE(tiny * 0.01f, 0.0f);
    return ran;
  };
  EXPECT_TRUE(calls([](Environment&) -> Task<Result<void>> {
    volatile float zero = 0;
    zero = 1 / zero;
    EXPECT_FALSE(rounds_down());
    co_return Result<void>();
  }));
  EXPECT_FALSE(calls([](Environment&) -> Task<Result<void>> { co_return unavailable("it ends with an error"); }));
  std::fesetround(FE_TONEAREST);
}
#endif

Task<Result<void>> until_interrupted(Environment& env) { co_return co_await env.sleep_for(kPatience, env.interrupted()); }

TEST(ProductionDeathTest, OffloadedWorkThatThrowsIsShown) {
  GTEST_FLAG_SET(death_test_style, death_test_style());
  auto body = [](Environment& e) -> Task<Result<void>> {
    Work work = [] { throw std::runtime_error("bad row"); };
    co_return co_await e.offload(std::move(work));
  };
  EXPECT_DEATH(
      {
        const auto env = make();
        static_cast<void>(env->run(body(*env)));
      },
      "offloaded work ended with an uncaught exception: bad row");
}

TEST(Production, TheOptionsTokenInterruptsToo) {
  const StopSource source;
  const auto a = make({.stop = source.token()});
  const auto b = make({.stop = source.token()});
  a->post([&] { source.request_stop(); });
  EXPECT_EQ(a->run(until_interrupted(*a)).error(), cancelled());
  EXPECT_EQ(b->run(until_interrupted(*b)).error(), cancelled());
}

TEST(Production, MakesEachTransportOnceAndNamesTheOthers) {
  int made = 0;
  const TransportFactory factory = [&](Environment&) {
    ++made;
    return std::make_unique<transport::Transport>();
  };
  const auto env = make({.transports = {{"inproc", factory}, {"tcp", factory}}});
  EXPECT_EQ(made, 0);
  transport::Transport* first = env->transport("tcp").value();
  EXPECT_EQ(env->transport("tcp").value(), first);
  EXPECT_NE(env->transport("inproc").value(), first);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(env->transport("shm").error(), not_found("no transport \"shm\" in this build; there are inproc, tcp"));
}

TEST(Production, SharesTheBuffersItIsGiven) {
  const auto pool = BufferPool::create();
  const auto env = make({.buffers = pool});
  EXPECT_EQ(&env->buffers(), pool.get());
  EXPECT_NE(&make()->buffers(), pool.get());
}

TEST(Production, LogsWithItsTask) {
  std::string line;
  const auto env = make({.task = "worker 1", .sink = [&](const LogRecord& record) {
                           line = std::string(record.task) + ": " + std::string(record.message);
                         }});
  env->log().info("ready");
  EXPECT_EQ(line, "worker 1: ready");
  EXPECT_NE(env->entropy(), env->entropy());
  EXPECT_GE(read_process_info().usable_cores, 1);
}

}  // namespace
}  // namespace shoal
