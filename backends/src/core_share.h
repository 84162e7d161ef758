// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether a helper of a team should leave its core to whoever else wants it.
#include <algorithm>
#include <chrono>

namespace shoal::backends {

/// What a thread has had of its core so far (getrusage(2)).
struct CoreUse {
  std::chrono::nanoseconds computing{};
  long taken = 0;  ///< How often the system has taken its core (involuntary context switches).
};

/// A core that a helper shares brings little: its team waits for the pieces that it holds while it does not run, and
/// one thread less with a core of its own is about as fast. So a helper whose core is wanted stays away for a while,
/// and then tries again; for longer each time, while that is still so. Pieces are the same whoever computes them.
class CoreShare {
 public:
  using Duration = std::chrono::nanoseconds;
  static constexpr Duration kLookEvery = std::chrono::milliseconds(16);  // Some time slices.
  // A thread that wanted its core for less time says nothing.
  static constexpr Duration kWantedLeast = std::chrono::milliseconds(4);
  static constexpr Duration kAwayFirst = std::chrono::milliseconds(32), kAwayMost = std::chrono::milliseconds(512);

  /// How long the thread should stay away after a while in which it wanted its core for `wanted`; zero means not at
  /// all. `threads` are those of the team, this one and the caller included.
  Duration look(Duration wanted, const CoreUse& now, int threads) {
    const Duration computed = now.computing - before_.computing;
    // Of two threads, one that has four fifths of its core is worth as much as none, as measured. In a larger team whoever
    // takes its piece has two, so it has to be worse off than half as fast.
    const Duration enough = threads > 2 ? wanted / 2 : wanted * 4 / 5;
    // Both: what happens a moment at a time is the system's own, and time alone a virtual machine lacks too, of all cores.
    const bool shared = now.taken - before_.taken >= 2 && computed < enough;
    before_ = now;
    // Who has slept is let run for a while without a break, so one quiet look does not mean that the core is free again.
    away_ = shared ? std::clamp(2 * away_, kAwayFirst, kAwayMost) : away_ - away_ / 8;
    return shared ? away_ : Duration::zero();
  }

 private:
  CoreUse before_;
  Duration away_{};  // How long it last stayed away, less with each look since.
};

}  // namespace shoal::backends
