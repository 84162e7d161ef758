// SPDX-License-Identifier: Apache-2.0
// Interrupts that come as signals to the process.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "death_tests.h"
#include "shoal/base/production.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSignalPatience = 30s;  // Far more than any of this takes: a wait that reaches it has failed.

std::unique_ptr<Environment> with_signals(ProductionOptions options) {
  return make_production_environment(std::move(options));
}

Task<Result<void>> until_signalled(Environment& env) {
  co_return co_await env.sleep_for(kSignalPatience, env.interrupted());
}

TEST(Production, ASignalStopsInterrupted) {
  for (int number : {SIGINT, SIGTERM}) {
    const auto env = with_signals({.handle_signals = true});
    EXPECT_FALSE(env->interrupted().stop_requested());
    env->post([number] { ::raise(number); });
    EXPECT_EQ(env->run(until_signalled(*env)).error(), cancelled());
    EXPECT_TRUE(env->interrupted().stop_requested());
  }
}

TEST(Production, ATerminateSignalMeansToGiveWayWhereItIsToldSo) {
  for (const bool leave : {false, true}) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      const auto env = with_signals({.handle_signals = true, .terminate_means_leave = leave});
      bool leaving_first = false;
      const StopCallback on_interrupt(env->interrupted(), [&] { leaving_first = env->leaving().stop_requested(); });
      env->post([number] { ::raise(number); });
      EXPECT_EQ(env->run(until_signalled(*env)).error(), cancelled());
      const bool leaves = leave && number != SIGINT;  // Ctrl-C is a person's.
      EXPECT_EQ(env->leaving().stop_requested(), leaves) << number;
      EXPECT_EQ(leaving_first, leaves) << number;
    }
  }
}

TEST(Production, WhoIsAskedToLeaveIsInterrupted) {
  const StopSource leave;
  const auto env = with_signals({.leave = leave.token()});
  EXPECT_FALSE(env->interrupted().stop_requested());
  leave.request_stop();
  EXPECT_TRUE(env->interrupted().stop_requested());
  EXPECT_TRUE(env->leaving().stop_requested());
}

TEST(Production, ASighupThatWasIgnoredStaysIgnored) {  // By nohup.
  ::signal(SIGHUP, SIG_IGN);
  {
    const auto env = with_signals({.handle_signals = true});
    ::raise(SIGHUP);
    EXPECT_TRUE(env->run(env->sleep_for(10ms, env->interrupted())));
  }
  EXPECT_EQ(::signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST(Production, HandlersAreAsBeforeAfterwards) {
  with_signals({.handle_signals = true});
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) EXPECT_EQ(::signal(number, SIG_DFL), SIG_DFL);
}

TEST(Production, ASignalReachesABusyStrand) {
  const auto env = with_signals({.offload_inline = true, .handle_signals = true});
  auto body = [](Environment& e) -> Task<Result<void>> {
    Work work = [&e] {
      const SteadyTime give_up = e.after(kSignalPatience);
      ::raise(SIGINT);
      while (!e.interrupted().stop_requested() && e.now() < give_up) std::this_thread::yield();
      EXPECT_TRUE(e.interrupted().stop_requested());
    };
    co_return co_await e.offload(std::move(work));
  };
  EXPECT_TRUE(env->run(body(*env)));
}

TEST(Production, ASignalReachesAllEnvironmentsThatWatch) {
  for (int round = 0; round < 2; ++round) {  // When all environments are gone, watching begins anew.
    const auto a = with_signals({.handle_signals = true});
    auto gone = with_signals({.handle_signals = true});
    const auto b = with_signals({.handle_signals = true});
    const auto deaf = with_signals({});
    gone.reset();  // The others still watch.
    EXPECT_FALSE(a->interrupted().stop_requested() || b->interrupted().stop_requested());
    ::raise(SIGINT);
    EXPECT_EQ(a->run(until_signalled(*a)).error(), cancelled());
    EXPECT_EQ(b->run(until_signalled(*b)).error(), cancelled());
    EXPECT_FALSE(deaf->interrupted().stop_requested());
    const auto late = with_signals({.handle_signals = true});  // It belongs to a process that is to end.
    EXPECT_EQ(late->run(until_signalled(*late)).error(), cancelled());
  }
}

TEST(Production, EnvironmentsThatWatchComeAndGoOnAnyThread) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round) with_signals({.handle_signals = true});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto env = with_signals({.handle_signals = true});
  ::raise(SIGTERM);
  EXPECT_EQ(env->run(until_signalled(*env)).error(), cancelled());
}

TEST(ProductionDeathTest, ASecondSignalEndsTheProcessWhoeverWatches) {
  GTEST_FLAG_SET(death_test_style, death_test_style());
  EXPECT_EXIT(
      {
        const auto a = with_signals({.handle_signals = true});
        const auto b = with_signals({.handle_signals = true});
        ::raise(SIGINT);
        std::this_thread::sleep_for(600ms);  // What comes sooner belongs to the first.
        ::raise(SIGINT);
      },
      testing::ExitedWithCode(128 + SIGINT), "second signal: ended at once");
}

TEST(ProductionDeathTest, ASignalToldTwiceIsOne) {
  GTEST_FLAG_SET(death_test_style, death_test_style());
  EXPECT_EXIT(
      {
        const auto env = with_signals({.handle_signals = true});
        for (int i = 0; i < 3; ++i) ::raise(i == 1 ? SIGINT : SIGTERM);
        ::_exit(env->run(until_signalled(*env)).error() == cancelled() ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

TEST(ProductionDeathTest, ASecondSignalEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, death_test_style());
  EXPECT_EXIT(
      {
        const auto env = with_signals({.handle_signals = true});
        ::raise(SIGINT);
        std::this_thread::sleep_for(600ms);
        ::raise(SIGTERM);
      },
      testing::ExitedWithCode(128 + SIGTERM), "second signal: ended at once");
}

}  // namespace
}  // namespace shoal
