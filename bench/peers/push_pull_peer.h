// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What push_pull_bench over another system's transport is, beside that system: its flags, its rounds, its lines.
///
///   <program> [--bytes 4096,65536] [--seconds 1]       writes a line of JSON for each size
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "latencies.h"
#include "program.h"

namespace shoal::bench {

struct PeerOptions {
  std::vector<int64_t> bytes{4 << 10, 64 << 10, 1 << 20, 16 << 20, 100'000'000};
  double seconds = 1;
};

/// The time of each round() until `seconds` are over, three at least.
template <class Round>
Latencies timed_rounds(double seconds, const Round& round) {
  constexpr size_t kLeast = 3, kMost = 200'000;
  Latencies taken;
  const double end = now_seconds() + seconds;
  while ((now_seconds() < end || taken.count() < kLeast) && taken.count() < kMost) {
    const double start = now_seconds();
    round();
    taken.add(now_seconds() - start);
  }
  return taken;
}

inline void print_line(const char* transport, int64_t bytes, Latencies taken) {
  std::printf("{\"transport\": \"%s\", \"bytes\": %lld, \"median_us\": %.2f}\n", transport, static_cast<long long>(bytes),
              1e6 * taken.percentile(0.5));
  std::fflush(stdout);
}

/// What main() does: work(options) by the flags.
template <class Work>
int push_pull_main(const std::string& program, const std::string& system, int argc, char** argv, const Work& work) {
  PeerOptions options;
  CLI::App app("push_pull_bench over " + system);
  app.add_option("--bytes", options.bytes, "Sizes, multiples of 4")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "Of each measurement")->check(CLI::PositiveNumber)->capture_default_str();
  parse_or_exit(app, argc, argv);
  return run_program(program, [&] { return work(options); });
}

}  // namespace shoal::bench
