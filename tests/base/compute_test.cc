// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/compute.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "shoal/base/production.h"
#include "shoal/base/virtual.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

/// A counter with functions of every kind that compute() takes.
struct Counter {
  Environment* env = nullptr;
  int calls = 0;

  int count(int by) {
    EXPECT_FALSE(env->on_strand());
    return calls += by;
  }
  void reset() { calls = 0; }
  Result<std::string> refuse() { return not_found("no such counter"); }
  Result<void> accept() { return {}; }
  std::unique_ptr<int> give() { return std::make_unique<int>(calls); }
};

/// Counts how many live copies there are of what a lambda captured; below zero: something was destroyed twice.
struct Alive {
  explicit Alive(int* alive) : alive_(alive) { ++*alive_; }
  Alive(const Alive& other) : alive_(other.alive_) { ++*alive_; }
  Alive(Alive&& other) noexcept : alive_(other.alive_) { ++*alive_; }
  Alive& operator=(const Alive&) = delete;
  Alive& operator=(Alive&&) = delete;
  ~Alive() { --*alive_; }
  int* alive_;
};

Task<Result<int>> count_twice(Environment& env, Counter* counter) {
  counter->env = &env;
  SHOAL_CO_TRY(const int one, co_await compute(env, &Counter::count, counter, 1));
  EXPECT_TRUE(env.on_strand());
  SHOAL_CO_TRY(const int three, co_await compute(env, &Counter::count, counter, 2));
  SHOAL_CO_TRY_VOID(co_await compute(env, &Counter::accept, counter));
  co_return one * 10 + three;
}

TEST(Compute, CallsAwayFromTheStrandAndGivesTheValue) {
  VirtualWorld world;
  Environment& env = world.add_task({.offload_duration = 2s});
  Counter counter;
  EXPECT_EQ(env.run(count_twice(env, &counter)).value(), 13);
  EXPECT_EQ(world.now(), SteadyTime(6s));
}

TEST(Compute, PassesOnTheErrorOfTheFunction) {
  VirtualWorld world;
  Environment& env = world.add_task();
  Counter counter;
  EXPECT_EQ(env.run(compute(env, &Counter::refuse, &counter)).error(), not_found("no such counter"));
}

/// What a called function raises is an error of the task, as what it returns: the process goes on.
TEST(Compute, AnErrorThatTheFunctionRaisesIsReturned) {
  const auto raises = []() -> int { raise(invalid_argument("steps must be greater than 0")); };
  VirtualWorld world;
  Environment& env = world.add_task();
  EXPECT_EQ(env.run(compute(env, raises)).error(), invalid_argument("steps must be greater than 0"));
  for (const bool offload_inline : {false, true}) {
    const auto production = make_production_environment({.offload_inline = offload_inline});
    EXPECT_EQ(production->run(compute(*production, raises)).error(), invalid_argument("steps must be greater than 0"));
  }
}

TEST(Compute, TakesFunctionsThatReturnNothingAndValuesThatOnlyMove) {
  VirtualWorld world;
  Environment& env = world.add_task();
  Counter counter{.calls = 7};
  EXPECT_EQ(**env.run(compute(env, &Counter::give, &counter)), 7);
  EXPECT_TRUE(env.run(compute(env, &Counter::reset, &counter)));
  EXPECT_EQ(counter.calls, 0);
}

TEST(Compute, IsCancelledWithoutACallWhenTheTaskWasKilled) {
  VirtualWorld world;
  Environment& env = world.add_task();
  Counter counter{.env = &env};
  const auto killed_first = [&world](Environment& of, Counter* of_it) -> Task<Result<int>> {
    world.kill(of);
    co_return co_await compute(of, &Counter::count, of_it, 1);
  };
  EXPECT_EQ(env.run(killed_first(env, &counter)).error(), cancelled());
  EXPECT_EQ(counter.calls, 0);
}

Task<Result<size_t>> lengths(Environment& env, Alive counted) {
  size_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    const std::string text(100, 'x');  // It is on the heap, so that AddressSanitizer sees it freed twice.
    const auto length = [text, counted] { return text.size() + size_t(*counted.alive_ > 0); };
    SHOAL_CO_TRY(const size_t one, co_await compute(env, length));
    sum += one;
  }
  co_return sum;
}

TEST(Compute, DestroysWhatANamedLambdaCapturedOnce) {
  VirtualWorld world;
  Environment& env = world.add_task();
  int alive = 0;
  EXPECT_EQ(env.run(lengths(env, Alive(&alive))).value(), 303u);
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace shoal
