// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides when a helper thread of a team should leave its core to other programs.
#include <algorithm>
#include <chrono>

namespace shoal::backends {

/// The use of a core by one thread so far, from getrusage(2).
struct CoreUse {
  std::chrono::nanoseconds computing{};
  long taken = 0;  ///< How often the system took the core from the thread (involuntary context switches).
};

/// A helper that shares its core with another program brings little: the team waits for the helper's pieces while the
/// helper does not run, and would be about as fast without it. Such a helper therefore pauses, and then tries again. The
/// pauses get longer for as long as the core is shared. Results do not depend on which thread computes a piece.
class CoreShare {
 public:
  using Duration = std::chrono::nanoseconds;
  // The time between two checks: a few time slices of the scheduler.
  static constexpr Duration kLookEvery = std::chrono::milliseconds(16);
  // A thread that wanted its core for less time than this is not checked for sharing the core.
  static constexpr Duration kWantedLeast = std::chrono::milliseconds(4);
  static constexpr Duration kAwayFirst = std::chrono::milliseconds(32), kAwayMost = std::chrono::milliseconds(512);

  /// Returns how long the thread should pause; zero: not at all. `wanted`: for how long the thread has wanted to compute
  /// since the last call. `threads`: the number of threads of the team, this one and the caller included.
  Duration look(Duration wanted, const CoreUse& now, int threads) {
    const Duration computed = now.computing - before_.computing;
    // Measured: in a team of two, a helper that gets no more than four fifths of its core's time does not make the team
    // faster. In a larger team without the helper, another thread would compute two pieces, and take twice as long. So
    // there a helper is useful if it gets at least half of its core's time.
    const Duration enough = threads > 2 ? wanted / 2 : wanted * 4 / 5;
    // A core is taken as shared only if there were context switches and also too little computing time. One sign alone does
    // not suffice: the system itself takes a core for moments, and a virtual machine may lack time on all cores.
    const bool shared = now.taken - before_.taken >= 2 && computed < enough;
    before_ = now;
    // A single check without signs of sharing does not prove that the core is free: after a pause, the system lets a thread
    // run for a while without interruption. So the next pause becomes only an eighth shorter.
    away_ = shared ? std::clamp(2 * away_, kAwayFirst, kAwayMost) : away_ - away_ / 8;
    return shared ? away_ : Duration::zero();
  }

 private:
  CoreUse before_;
  Duration away_{};  // The length of the last pause, reduced at each check that finds the core unshared.
};

}  // namespace shoal::backends
