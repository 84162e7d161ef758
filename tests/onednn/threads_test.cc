/// Loops on several threads: each element once, whoever takes it.
#include "threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace shoal::backends::onednn {
namespace {

constexpr int64_t kWorthATeam = int64_t(1) << 30;

class ParallelChunks : public ::testing::TestWithParam<int> {};

TEST_P(ParallelChunks, GiveEachElementOnce) {
  const int threads = GetParam();
  bind_compute_thread(threads);
  for (int64_t count : {0, 1, 5, 64, 1000}) {
    for (int64_t chunk : {1, 7, 64, 5000}) {
      std::vector<std::atomic<int>> taken(static_cast<size_t>(count));
      std::atomic<bool> fits = true;
      parallel_chunks(threads, count, chunk, kWorthATeam, [&](int thread, Chunks& chunks) {
        for (int64_t begin, end; chunks.next(begin, end);) {
          const bool whole = end - begin == chunk || end == count;
          if (thread < 0 || thread >= threads || begin % chunk != 0 || begin >= end || !whole) fits = false;
          for (int64_t i = begin; i < end; ++i) ++taken[size_t(i)];
        }
        int64_t begin, end;
        if (chunks.next(begin, end)) fits = false;  // nothing comes back
      });
      EXPECT_TRUE(fits) << count << " by " << chunk;
      for (int64_t i = 0; i < count; ++i) EXPECT_EQ(taken[size_t(i)], 1) << i << " of " << count << " by " << chunk;
    }
  }
  bind_compute_thread(1);
}

class ParallelChunksOfATeam : public ParallelChunks {};

TEST_P(ParallelChunksOfATeam, LeaveNothingWaitingForAThreadThatIsBusy) {
  const int threads = GetParam();
  bind_compute_thread(threads);
  std::atomic<int> entered = 0;
  parallel_chunks(threads, threads, 1, kWorthATeam, [&](int, Chunks&) { ++entered; });
  if (entered == 1) GTEST_SKIP() << "a build without teams: there is nobody else";
  constexpr int64_t kCount = 100;
  std::atomic<int64_t> done = 0;
  bool holds_one = false, others_did_the_rest = false;
  parallel_chunks(threads, kCount, 1, kWorthATeam, [&](int thread, Chunks& chunks) {
    int64_t begin, end;
    if (thread == 0) {
      holds_one = chunks.next(begin, end);
      if (!holds_one) return;  // the others were faster
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (done < kCount - 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      others_did_the_rest = done == kCount - 1;
      ++done;
      return;
    }
    while (chunks.next(begin, end)) ++done;
  });
  EXPECT_EQ(others_did_the_rest, holds_one);
  EXPECT_EQ(done, kCount);
  bind_compute_thread(1);
}

INSTANTIATE_TEST_SUITE_P(Onednn, ParallelChunks, ::testing::Values(1, 2, 3, 70));
INSTANTIATE_TEST_SUITE_P(Onednn, ParallelChunksOfATeam, ::testing::Values(2, 3, 70));

}  // namespace
}  // namespace shoal::backends::onednn
