// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Many seeds: in several processes at once, with progress, and what they came to.
#include <cstdint>
#include <string>

namespace shoal::simulation {

struct SwarmOptions {
  uint64_t from = 1;
  uint64_t count = 100;
  int jobs = 2;
  bool trace = false;
  bool stop_at_first = false;
  bool shrink = true;
  bool canary = true;
};

/// Prints the plan, the violations and what tasks said last. True: nothing was violated.
bool run_one(uint64_t seed, const SwarmOptions& options);
/// Prints progress, each seed that failed with the command that replays it and the smallest plan that still fails, and a
/// summary. `marks_file`: rare paths, one a line, that all seeds together must have taken; empty: none. True: all is well.
bool run_swarm(const SwarmOptions& options, const std::string& marks_file);

}  // namespace shoal::simulation
