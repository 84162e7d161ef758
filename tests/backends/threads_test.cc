// SPDX-License-Identifier: Apache-2.0
/// Loops on several threads: each element once, whoever takes it.
#include "threads.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "shoal/base/cpu.h"
#include "team.h"

namespace shoal::backends {
namespace {

constexpr int64_t kWorthATeam = int64_t(1) << 30;

class ParallelChunks : public ::testing::TestWithParam<int> {};

TEST_P(ParallelChunks, GiveEachElementOnce) {
  const int threads = GetParam();
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
        if (chunks.next(begin, end)) fits = false;  // Nothing comes after the end.
      });
      EXPECT_TRUE(fits) << count << " by " << chunk;
      for (int64_t i = 0; i < count; ++i) EXPECT_EQ(taken[size_t(i)], 1) << i << " of " << count << " by " << chunk;
    }
  }
}

class ParallelChunksOfATeam : public ParallelChunks {};

TEST_P(ParallelChunksOfATeam, LeaveNothingWaitingForAThreadThatIsBusy) {
  const int threads = GetParam();
  std::atomic<int> entered = 0;
  parallel_chunks(threads, threads, 1, kWorthATeam, [&](int, Chunks&) { ++entered; });
  ASSERT_EQ(entered, threads);
  constexpr int64_t kCount = 100;
  std::atomic<int64_t> done = 0;
  bool holds_one = false, others_did_the_rest = false;
  parallel_chunks(threads, kCount, 1, kWorthATeam, [&](int thread, Chunks& chunks) {
    int64_t begin, end;
    if (thread == 0) {
      holds_one = chunks.next(begin, end);
      if (!holds_one) return;  // The others were faster.
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
}

/// Counts who does what.
struct Piecework {
  std::vector<std::atomic<int>> done;
  std::atomic<bool> helped = false;
  const std::thread::id caller = std::this_thread::get_id();
  explicit Piecework(int pieces) : done(size_t(pieces)) {}
  void note(int piece) {
    ++done[size_t(piece)];
    if (std::this_thread::get_id() != caller) helped = true;
  }
  void expect_each_once() const {
    for (size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], 1) << i;
  }
};

template <class Body>
void run_on(Team& team, int pieces, Body body) {
  team.run(
      pieces, [](void* held, int piece) { (*static_cast<Body*>(held))(piece); }, &body);
}

TEST(Team, DoesEachPieceOnce) {
  Team team;
  for (int round = 0; round < 2000; ++round) {
    const int pieces = round % 9;  // At times they are fewer than the helpers by then.
    Piecework work(pieces);
    run_on(team, pieces, [&](int piece) { work.note(piece); });
    work.expect_each_once();
  }
}

/// Else a piece would have other bits on another thread.
TEST(Team, HelpersTakeDenormalsForWhatTheirCallerDoes) {
#if !defined(__SSE2__) && !defined(__aarch64__)
  GTEST_SKIP() << "this processor has no such mode that we set";
#endif
  Team team;
  for (const Denormals denormals : {Denormals::kKept, Denormals::kZero, Denormals::kKept}) {
    const ComputeMode mode(denormals);
    std::latch both(2);  // So each thread has one.
    std::array<float, 2> halves{};
    run_on(team, 2, [&](int piece) {
      both.arrive_and_wait();
      volatile float tiny = 1e-39f;
      halves[size_t(piece)] = tiny * 0.5f;
    });
    for (const float half : halves) EXPECT_EQ(half > 0, denormals == Denormals::kKept);
    EXPECT_EQ(denormals_of_thread(), denormals);
  }
}

TEST(Team, TheCallerDoesWhatNobodyHasBegun) {
  Team team;
  constexpr int kPieces = 5;
  Piecework work(kPieces);
  std::atomic<int> finished = 0;
  run_on(team, kPieces, [&](int piece) {
    work.note(piece);
    // Helpers hold what they have until the caller has finished a piece.
    if (std::this_thread::get_id() != work.caller) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (finished == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    }
    ++finished;
  });
  work.expect_each_once();
}

TEST(Team, HelpersThatSleepAreWoken) {
  Team team;
  Piecework first(2), second(2);
  const auto meet = [](Piecework& work) {  // Neither goes on before both are there.
    return [&work, here = std::make_shared<std::atomic<int>>(0)](int piece) {
      work.note(piece);
      ++*here;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (*here < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    };
  };
  run_on(team, 2, meet(first));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // A hundred times as long as helpers spin.
  run_on(team, 2, meet(second));
  EXPECT_TRUE(first.helped && second.helped);
}

TEST(Team, APieceThatAsksForATeamDoesItAlone) {
  Piecework work(12);
  Team team;
  run_on(team, 3, [&](int outer) {
    const std::thread::id here = std::this_thread::get_id();
    parallel_pieces(4, [&](int inner) {
      work.note(4 * outer + inner);
      EXPECT_EQ(std::this_thread::get_id(), here);
    });
  });
  work.expect_each_once();
}

TEST(Team, EachThreadHasItsOwn) {
  std::vector<std::thread> tasks;
  for (int i = 0; i < 3; ++i) {
    tasks.emplace_back([] {
      for (int round = 0; round < 300; ++round) {
        Piecework work(3);
        parallel_pieces(3, [&](int piece) { work.note(piece); });
        work.expect_each_once();
      }
    });
  }
  for (std::thread& task : tasks) task.join();
}

INSTANTIATE_TEST_SUITE_P(Onednn, ParallelChunks, ::testing::Values(1, 2, 3, 70));
INSTANTIATE_TEST_SUITE_P(Onednn, ParallelChunksOfATeam, ::testing::Values(2, 3, 70));

}  // namespace
}  // namespace shoal::backends
