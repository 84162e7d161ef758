// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the time of a program goes: by kernel, over several runs, next to the least time that this machine could take.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/backends/machine_limits.h"
#include "shoal/base/std_function.h"
#include "shoal/base/time.h"

namespace shoal::backends {

/// One program's times: of each kernel and of a whole run, the medians over the runs. Seconds; shares are fractions.
struct Profile {
  struct Row {
    std::string node;
    std::string op;
    std::string implementation;
    double seconds = 0;
    double share = 0;  ///< The part of the run's time that it took.
    /// The least time for this cost, as a share of the time taken; near 1 there is nothing to gain.
    double of_limit = 0;
    NodeCost cost;
  };
  std::vector<Row> rows;  ///< The kernels, longest first. Views, which run nothing, are left out.
  int64_t runs = 0;
  double run_seconds = 0;
  double kernel_seconds = 0;  ///< The sum of the rows; the rest of a run is copies and applied updates.
  size_t arena_bytes = 0;
  size_t lower_bound_bytes = 0;
  Numerics numerics;
  MachineLimits limits;
};

/// A table for people: a line about the run, then one for each kernel, at most `rows_max`; the others are summed up.
std::string to_table(const Profile& profile, size_t rows_max = 40);
/// One object: runs, run_seconds, kernel_seconds, arena_bytes, lower_bound_bytes, backend, threads, peak_flops_per_second,
/// copy_bytes_per_second (of the largest copy) and kernels, a list of objects with the fields of Row (flops and bytes for
/// cost).
std::string to_json(const Profile& profile);

/// Collects times; bound to runs as their observer. Looks at one program, the first that it sees, and ignores the runs of
/// others. One thread at a time.
class Profiler final : public KernelObserver {
 public:
  explicit Profiler(std::function<SteadyTime()> now) : now_(std::move(now)) {}

  int64_t runs() const { return int64_t(run_seconds_.size()); }
  int threads() const { return info_.threads; }  ///< How many threads compute the program; 1 before its first run.
  /// What at least one run took.
  Profile profile(MachineLimits limits) const;

  void run_started(const ProgramInfo& info) override;
  void kernel_started(size_t kernel) override;
  void kernel_ended(size_t kernel) override;
  void run_paused() override;
  void run_resumed() override;
  void run_ended() override;

 private:
  std::function<SteadyTime()> now_;
  const ProgramInfo* program_ = nullptr;  // Tells programs apart and is not looked into.
  bool watching_ = false;
  ProgramInfo info_;
  SteadyTime run_start_{}, kernel_start_{};
  double ran_ = 0;  // Seconds of the run before its last pause.
  std::vector<double> run_seconds_;
  std::vector<std::vector<double>> kernel_seconds_;  // The times of each kernel, one for each run.
};

}  // namespace shoal::backends
