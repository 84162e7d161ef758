// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Shows where the time of a program goes: by kernel, over several runs, beside the least time possible on this machine.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/backends/machine_limits.h"
#include "shoal/base/std_function.h"
#include "shoal/base/time.h"

namespace shoal::backends {

/// The times of one program: for each kernel and for a whole run, medians over the runs. In seconds; shares are fractions.
struct Profile {
  struct Row {
    std::string node;
    std::string op;
    std::string implementation;
    double seconds = 0;
    double share = 0;  ///< The kernel's fraction of the run's time.
    /// The least time that this machine needs for the kernel's `cost`, divided by `seconds`. Near 1 the kernel cannot be
    /// made faster.
    double of_limit = 0;
    NodeCost cost;
  };
  std::vector<Row> rows;  ///< The kernels, longest first. Views, which do no work, are left out.
  int64_t runs = 0;
  double run_seconds = 0;
  double kernel_seconds = 0;  ///< The sum of the seconds of all rows. The run also takes time for copies and updates.
  size_t arena_bytes = 0;
  size_t lower_bound_bytes = 0;
  Numerics numerics;
  MachineLimits limits;
};

/// A table for people: a line about the run, then a line for each kernel, at most `rows_max`; one line sums up all others.
std::string to_table(const Profile& profile, size_t rows_max = 40);
/// One object: runs, run_seconds, kernel_seconds, arena_bytes, lower_bound_bytes, backend, threads, peak_flops_per_second,
/// copy_bytes_per_second (of the largest copy) and kernels, a list of objects with the fields of Row (flops and bytes for
/// cost).
std::string to_json(const Profile& profile);

/// Collects times. Bind it to runs as their observer. It watches one program, the first that it sees, and ignores the runs
/// of others. One thread at a time.
class Profiler final : public KernelObserver {
 public:
  explicit Profiler(std::function<SteadyTime()> now) : now_(std::move(now)) {}

  int64_t runs() const { return int64_t(run_seconds_.size()); }
  /// The number of threads that compute the program; 1 before its first run.
  int threads() const { return info_.threads; }
  /// The profile of the runs so far, of which there has to be at least one.
  Profile profile(MachineLimits limits) const;

  void run_started(const CompiledProgramInfo& info) override;
  void kernel_started(size_t kernel) override;
  void kernel_ended(size_t kernel) override;
  void run_paused() override;
  void run_resumed() override;
  void run_ended() override;

 private:
  std::function<SteadyTime()> now_;
  const CompiledProgramInfo* program_ = nullptr;  // Only compared, to tell programs apart.
  bool watching_ = false;
  CompiledProgramInfo info_;
  SteadyTime run_start_{}, kernel_start_{};
  double ran_ = 0;  // The seconds that the run computed before its last pause; 0 if it had no pause.
  std::vector<double> run_seconds_;
  std::vector<std::vector<double>> kernel_seconds_;  // By kernel: its times, one for each run.
};

}  // namespace shoal::backends
