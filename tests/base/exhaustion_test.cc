// SPDX-License-Identifier: Apache-2.0
// Memory, threads and descriptors that have run out end nothing by an abort.
#include "shoal/base/exhaustion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <new>
#include <stdexcept>
#include <system_error>

#include "allocation_count.h"
#include "death_tests.h"
#include "shoal/base/buffer.h"
#include "shoal/base/compute.h"
#include "shoal/base/production.h"
#include "shoal/base/tensor.h"
#include "shoal/base/virtual.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// No machine has as much, and no process of 32 bits in one piece.
constexpr size_t kNowhere = size_t(1) << (sizeof(size_t) == 8 ? 60 : 31);

void use_up_memory() { throw std::bad_alloc(); }
void use_up_threads() { throw std::system_error(EAGAIN, std::generic_category()); }

template <class T>
void expect_memory_error(const Result<T>& result) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kUnavailable) << result.error().message();
  EXPECT_THAT(result.error().message(), HasSubstr("memory ran out"));
}

TEST(Exhaustion, ABufferThatCanNeverBeIsRefusedAndThePoolGoesOn) {
  const auto pool = BufferPool::create();
  const auto refused = [&pool] { return call_user("a test", [&pool] { return pool->get(kNowhere); }); };
  for (int i = 0; i < 2; ++i) {
    const auto result = refused();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind(), ErrorKind::kFailedPrecondition) << result.error().message();
    EXPECT_THAT(result.error().message(), AllOf(HasSubstr(std::to_string(kNowhere >> 20) + " MiB"),
                                                HasSubstr("this process may have"), HasSubstr("can never have that")));
  }
  EXPECT_EQ(pool->stats().in_use_bytes, 0u);
  EXPECT_EQ(pool->stats().allocated_bytes, 0u);
  EXPECT_EQ(pool->get(100)->size(), 100u);
  EXPECT_FALSE(call_user("a test", [] { return Tensor(DType::kFloat32, {int64_t(1) << 40, 1 << 18}); }));
}

/// All that a task does runs in coroutines and in work that they wait for.
Task<Result<int>> throws_in_a_coroutine() {
  raise_exhausted(unavailable("memory ran out"));
  co_return 1;
}
Task<Result<int>> awaits(Task<Result<int>> inner) {
  SHOAL_CO_TRY(const int value, co_await std::move(inner));
  co_return value + 1;
}
Task<Result<void>> offloads(Environment& env) {
  Work work = [] { use_up_memory(); };
  co_return co_await env.offload(std::move(work));
}
Task<Result<int>> computes(Environment& env) {
  const auto work = []() -> int {
    use_up_threads();
    return 1;
  };
  co_return co_await compute(env, work);
}

void expect_errors_in(Environment& env) {
  expect_memory_error(env.run(throws_in_a_coroutine()));
  expect_memory_error(env.run(awaits(throws_in_a_coroutine())));
  expect_memory_error(env.run(offloads(env)));
  const Result<int> computed = env.run(computes(env));
  ASSERT_FALSE(computed);
  EXPECT_EQ(computed.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(computed.error().message(), HasSubstr("a thread could not be started"));
}

TEST(Exhaustion, InATaskItIsAnError) {
  for (const bool offload_inline : {false, true}) {
    const auto env = make_production_environment({.offload_inline = offload_inline});
    expect_errors_in(*env);
  }
  VirtualWorld world{VirtualWorldOptions{}};
  Environment& env = world.add_task({.task = "a task"});
  const auto program = world.start(env, [&env] { expect_errors_in(env); });
  world.run_for(std::chrono::seconds(10));
}

/// The first child that fails asks the others to stop, as for any error.
TEST(Exhaustion, AGroupEndsByIt) {
  const auto env = make_production_environment({});
  const auto both = [](Environment& inside) -> Task<Result<void>> {
    TaskGroup group(inside);
    const auto child = [](Environment&) -> Task<Result<void>> {
      raise_exhausted(unavailable("memory ran out"));
      co_return Result<void>();
    };
    group.spawn(child(inside));
    co_return co_await group.join();
  };
  expect_memory_error(env->run(both(*env)));
}

TEST(Exhaustion, WhatUserCodeThrowsIsTold) {
  const auto result = call_user("input_fn", [] { use_up_memory(); });
  expect_memory_error(result);
  EXPECT_THAT(result.error().message(), HasSubstr("input_fn"));
  EXPECT_THROW(raise(result.error()), std::bad_alloc);  // The user's own exception, unchanged.
}

TEST(Exhaustion, AnErrorNumberNamesItsLimit) {
  EXPECT_THAT(system_error_text(EMFILE), AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n")));
  EXPECT_THAT(no_thread_text(EAGAIN), HasSubstr("use fewer threads"));
  EXPECT_EQ(system_error_text(ENOENT), "No such file or directory");
}

TEST(Exhaustion, AModelThatDoesNotFitIsRefused) {
  EXPECT_TRUE(fits_memory(100, 0, "the model", "make it smaller"));
  EXPECT_TRUE(fits_memory(100, 100, "the model", "make it smaller"));
  const Result<void> larger = fits_memory((2 << 20) + 1, 2 << 20, "the model", "make it smaller");
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(larger.error().message(), AllOf(HasSubstr("the model takes at least 3 MiB"), HasSubstr("may have 2 MiB"),
                                              HasSubstr("make it smaller")));
}

void make_a_mistake() { throw std::logic_error("a mistake"); }
void make_a_mistake_in_a_destructor() {
  struct Late {
    ~Late() { make_a_mistake(); }
  };
  const Late late;
}

class ExhaustionDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, death_test_style()); }
};

void fail_in_a_destructor() {
  struct Late {
    ~Late() { use_up_memory(); }
  };
  const Late late;
}

TEST_F(ExhaustionDeathTest, WhereNothingMayThrowTheProcessEndsWithASentence) {
  EXPECT_EXIT(
      {
        const ExhaustionAsError errors;
        fail_in_a_destructor();
      },
      testing::ExitedWithCode(1), "error: memory ran out");
  EXPECT_EXIT(
      {
        const ExhaustionAsError errors;
        const auto env = make_production_environment({});
        const auto half_done = [](Environment&) -> Task<Result<void>> {  // Others would go on with what it leaves.
          use_up_memory();
          co_return Result<void>();
        };
        static_cast<void>(env->run(half_done(*env)));
      },
      testing::ExitedWithCode(1), "error: memory ran out");
}

TEST_F(ExhaustionDeathTest, AMistakeIsNoExhaustion) {
  EXPECT_EXIT(
      {
        const ExhaustionAsError errors;
        make_a_mistake_in_a_destructor();
      },
      testing::KilledBySignal(SIGABRT), "");
}

/// No more address space than there is now and `bytes` beside it.
void limit_memory(size_t bytes) {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages;
  const size_t now = pages * size_t(::sysconf(_SC_PAGESIZE));
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = now + bytes;
  ::setrlimit(RLIMIT_AS, &limit);
}

TEST_F(ExhaustionDeathTest, AThreadThatCannotBeStartedIsAnError) {
  if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers take address space of their own";
  EXPECT_EXIT(
      {
        const auto env = make_production_environment({});
        limit_memory(size_t(1) << 20);  // A thread's stack takes more.
        const Result<void> result = env->run(offloads(*env));
        std::fprintf(stderr, "%s\n", result.error().message().c_str());
        ::_exit(exit_status(result.error().kind()));
      },
      testing::ExitedWithCode(1), "a thread could not be started: .*ulimit -v");
}

TEST_F(ExhaustionDeathTest, APoolWithoutThreadsLeavesTheWorkToWhoWantsIt) {
  if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers take address space of their own";
  EXPECT_EXIT(
      {
        const auto env = make_production_environment({.pool_threads = 4});
        limit_memory(size_t(1) << 20);
        int64_t count = 0;
        const UniqueFunction<void(int64_t, int64_t)> body = [&count](int64_t begin, int64_t end) { count += end - begin; };
        env->parallel_for(100, 7, body);
        ::_exit(count == 100 && !env->pool().submit([] {}) ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(ExhaustionDeathTest, AFaultIsToldFromMemoryThatWasNotThere) {
  if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers handle faults themselves";
  volatile int* nowhere = nullptr;
  EXPECT_EXIT(
      {
        const ExhaustionAsError errors;
        *nowhere = 1;
      },
      testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        const ExhaustionAsError errors;
        limit_memory(size_t(1) << 20);
        *nowhere = 1;
      },
      testing::ExitedWithCode(1), "error: memory ran out");
}

TEST_F(ExhaustionDeathTest, DescriptorsThatRunOutAreAnError) {
  EXPECT_EXIT(
      {
        rlimit limit{};
        limit.rlim_cur = limit.rlim_max = 3;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        const auto made = call_user("a test", [] { make_production_environment({.handle_signals = true}); });
        std::fprintf(stderr, "%s\n", made.error().message().c_str());
        ::_exit(exit_status(made.error().kind()));
      },
      testing::ExitedWithCode(1), "Too many open files; this process may have 3 files and sockets open");
}

}  // namespace
}  // namespace shoal
