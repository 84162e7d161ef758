// SPDX-License-Identifier: Apache-2.0
// Steady loops allocate nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "allocation_count.h"
#include "shoal/base/compute.h"
#include "shoal/base/production.h"

namespace shoal {
namespace {

class Allocation : public testing::Test {
 protected:
  void SetUp() override {
    if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers keep their own operator new and switch the frame cache off";
    const long before = allocation_count();
    ::operator delete(::operator new(1));  // A new-expression could be optimised away.
    ASSERT_GT(allocation_count(), before);
  }
};

int plus(int a, int b) { return a + b; }
Task<int> sum_of(int a, int b) { co_return a + b; }

Task<Result<long>> steps(Environment& env, int count) {
  long allocated = 0;
  int sum = 0;
  for (int i = -10; i < count; ++i) {  // The first ten fill the caches.
    if (i == 0) allocated = allocation_count();
    Work work = [&sum, i] { sum += i; };
    SHOAL_CO_TRY_VOID(co_await env.offload(std::move(work)));
    SHOAL_CO_TRY(sum, co_await compute(env, &plus, sum, i));
    sum = co_await sum_of(sum, 1);
    SHOAL_CO_TRY_VOID(co_await env.sleep_until(env.now()));
    const Ref<Buffer> buffer = env.buffers().get(5000);
  }
  co_return allocation_count() - allocated;
}

TEST_F(Allocation, ASteadyLoopOfInlineWorksAllocatesNothing) {
  const auto env = make_production_environment({.offload_inline = true});
  EXPECT_EQ(env->run(steps(*env, 1000)).value(), 0);
}

TEST_F(Allocation, ParallelForAllocatesNothing) {
  const auto env = make_production_environment({.pool_threads = 3});
  std::atomic<int64_t> sum{0};
  const UniqueFunction<void(int64_t, int64_t)> body = [&](int64_t begin, int64_t) { sum += begin; };
  for (int i = 0; i < 10; ++i) env->parallel_for(100, 1, body);
  const long before = allocation_count();
  for (int i = 0; i < 1000; ++i) env->parallel_for(100, 1, body);
  EXPECT_EQ(allocation_count() - before, 0);
  EXPECT_EQ(sum.load(), 1010 * 4950);
}

}  // namespace
}  // namespace shoal
