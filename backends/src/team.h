// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A thread and its helpers, which compute loops together.
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "shoal/base/cpu.h"
#include "threads.h"

namespace shoal::backends {

/// A job is divided into fixed pieces, and free threads take them. The calling thread takes part and does every piece that
/// no helper has begun, so a helper that gets no core (because another program has it) delays nothing but the piece that it
/// has taken. A waiting thread spins for some microseconds, since the next loop of a program follows soon, and then sleeps,
/// which leaves the core to other programs. A helper that has to share its core pauses (CoreShare).
class Team {
 public:
  using Piece = void (*)(void* context, int number);
  static constexpr int kPiecesMax = kTeamMax;

  /// Returns the team of the calling thread. The thread's first call makes the team, and the end of the thread destroys it.
  /// Null once the team is destroyed.
  static Team* of_this_thread();

  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  /// Calls piece(context, number) once for each number in [0, pieces), on at most `pieces` threads. `pieces` is at most
  /// kPiecesMax, and `piece` does not throw. If a piece itself calls run(), all pieces of that call run in order on the
  /// calling thread. Helpers start with the first call that can use them; if the system allows no threads, the calling
  /// thread does everything.
  void run(int pieces, Piece piece, void* context);

 private:
  struct alignas(64) Claim {  // One cache line each, since several threads write claims.
    // For piece i of job number j: 2 * j while no thread has taken the piece, 2 * j + 1 once a thread has taken it.
    std::atomic<uint64_t> number{0};
  };

  void start_helpers(int count);
  class CoreWatch;
  void help(int rank);
  uint64_t wait_for_job(uint64_t done, CoreWatch& core);
  void take_pieces(int rank, uint64_t job);
  void wait_for_pieces();

  std::vector<std::thread> helpers_;
  bool no_more_helpers_ = false;
  std::array<Claim, kPiecesMax> claims_;
  // These members describe the present job. The calling thread writes them before other threads can take pieces of the
  // job. pieces_ is atomic, since a helper that is late for an earlier job may read it at any time.
  std::atomic<int> pieces_{0};
  Piece piece_ = nullptr;
  void* context_ = nullptr;
  // The floating-point mode of the calling thread. Helpers use the same mode, so that bits do not depend on the thread.
  Denormals denormals_ = Denormals::kZero;
  alignas(64) std::atomic<uint64_t> job_{0};  // Counts the jobs.
  std::atomic<uint32_t> bell_{0};             // Incremented with each job; 32 bits, so that futexes can wait for it.
  std::atomic<bool> ends_{false};
  std::mutex mutex_;  // For over_, on which a helper thread waits while it pauses.
  std::condition_variable over_;
  alignas(64) std::atomic<int32_t> unfinished_{0};
};

}  // namespace shoal::backends
