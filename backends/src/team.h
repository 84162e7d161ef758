// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Threads that compute together: the one that asks, and helpers of its own.
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

/// Work in fixed pieces, which go to whoever is free. Who asks takes part, and does all that nobody has begun: helpers that
/// get no core (another program has it) delay nothing but a piece that they hold. Who waits spins for some microseconds,
/// since the next loop of a program follows soon, and then sleeps, so that a core is left to those who need it; a
/// helper that has to share its core stays away for a while (CoreShare).
class Team {
 public:
  using Piece = void (*)(void* context, int number);
  static constexpr int kPiecesMax = kTeamMax;

  /// The team of the calling thread, made by its first call and gone with it; null where it is gone already.
  static Team* of_this_thread();

  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  /// Calls piece(context, number) once for each of [0, pieces), at most kPiecesMax of them, on at most as many threads;
  /// it does not throw. From inside a piece: all of them in order, on the thread that asks. Helpers start with the
  /// first call that can use them; where the system gives none, the caller does everything.
  void run(int pieces, Piece piece, void* context);

 private:
  struct alignas(64) Claim {  // Each has a line of the cache, since those who take pieces write them.
    // Twice the number of the job if nobody has begun the piece; one more once it is taken.
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
  // Data of the job, written before its pieces can be claimed. The first is looked at by helpers that may be late.
  std::atomic<int> pieces_{0};
  Piece piece_ = nullptr;
  void* context_ = nullptr;
  Denormals denormals_ = Denormals::kZero;  // As the thread that asks has them, so that a piece's bits are the same on every thread.
  alignas(64) std::atomic<uint64_t> job_{0};  // Counts the jobs.
  std::atomic<uint32_t> bell_{0};             // Rings with each job; has 32 bits, which the system can wait for.
  std::atomic<bool> ends_{false};
  std::mutex mutex_;  // Helpers that stay away hold it to wait on over_.
  std::condition_variable over_;
  alignas(64) std::atomic<int32_t> unfinished_{0};
};

}  // namespace shoal::backends
