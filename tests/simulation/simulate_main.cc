// SPDX-License-Identifier: Apache-2.0
// ./dev simulate: many seeds, each a whole job with its faults, in virtual time.
#include <CLI/CLI.hpp>
#include <optional>

#include "swarm.h"

int main(int argc, char** argv) {
  using namespace shoal::simulation;
  CLI::App app("Runs whole jobs with faults in virtual time, each drawn from a seed, and checks what may not be.");
  SwarmOptions options;
  std::optional<uint64_t> seed;
  std::string marks;
  app.add_option("--seeds", options.count, "So many seeds")->capture_default_str();
  app.add_option("--from", options.from, "The first of them")->capture_default_str();
  app.add_option("--seed", seed, "One seed alone: its plan, and what each task said last if it fails");
  app.add_option("--jobs", options.jobs, "Seeds that run at the same time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--marks", marks, "File of rare paths (one a line) that the run must take");
  app.add_flag("--trace", options.trace, "With --seed: every log line, with its virtual time");
  app.add_flag("--stop-at-first", options.stop_at_first, "Stop at the first seed that fails");
  app.add_flag("!--no-shrink", options.shrink, "Do not look for the smallest plan that still fails");
  app.add_flag("!--no-canary", options.canary,
               "Leave out the planted defects, which one seed in a hundred has and which must be found");
  CLI11_PARSE(app, argc, argv);
  if (seed) return run_one(*seed, options) ? 0 : 1;
  return run_swarm(options, marks) ? 0 : 1;
}
