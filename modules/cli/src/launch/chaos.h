// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kills tasks at random, to test that a job survives: `shoal launch --chaos`.
#include <cstddef>
#include <cstdint>

#include "shoal/base/random.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

struct Chaos {
  Duration every = std::chrono::seconds(15);  ///< The mean time between two kills.
  uint64_t seed = 1;
};

/// Chooses the times and the victims of kills at random. The same seed gives the same times and victims.
class ChaosDraws {
 public:
  explicit ChaosDraws(const Chaos& chaos) : every_(chaos.every), numbers_(fold_in(chaos.seed, "launch chaos")) {}
  /// The time until the next kill: uniform, from half of `every` to one and a half of it.
  Duration pause() { return seconds_to_duration(to_seconds(every_) * (0.5 + double(numbers_.next_float()))); }
  /// The index of the victim among `count` tasks; `count` is at least 1.
  size_t victim(size_t count) { return size_t(numbers_.below(count)); }

 private:
  Duration every_;
  RandomStream numbers_;
};

}  // namespace shoal::cli::launch
