// SPDX-License-Identifier: Apache-2.0
#include "shoal/backends/profile.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/json/text.h"

namespace shoal::backends {
namespace {

double seconds_between(SteadyTime from, SteadyTime to) { return std::chrono::duration<double>(to - from).count(); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Formats a time as in "12.3 us".
std::string duration(double seconds) {
  if (seconds >= 1) return formatted("%.3f s", seconds);
  if (seconds >= 1e-3) return formatted("%.2f ms", seconds * 1e3);
  return formatted("%.1f us", seconds * 1e6);
}

std::string row_text(const Profile::Row& row) {
  const double rate = row.seconds > 0 ? 1e-9 / row.seconds : 0;
  return formatted("%10s %6.1f%% %8.0f%% %9.1f %9.1f  %-22s %-34s %s\n", duration(row.seconds).c_str(), 100 * row.share,
                   100 * row.of_limit, row.cost.flops * rate, row.cost.bytes * rate, row.op.c_str(), row.node.c_str(),
                   row.implementation.c_str());
}

std::string heading(const Profile& profile) {
  const double ratio = profile.lower_bound_bytes == 0 ? 1 : double(profile.arena_bytes) / double(profile.lower_bound_bytes);
  const double largest_copy = profile.limits.copies.empty() ? 0 : profile.limits.copies.back().bytes_per_second;
  return formatted("%s per run (median of %lld), %s of it in kernels; backend %s, threads: %d\n",
                   duration(profile.run_seconds).c_str(), (long long)profile.runs, duration(profile.kernel_seconds).c_str(),
                   profile.numerics.backend.c_str(), profile.numerics.threads) +
         formatted(
             "memory plan %.2f MiB, %.3f times its lower bound; this machine: %.1f GFLOP/s, %.1f GB/s in large copies\n",
             double(profile.arena_bytes) / (1 << 20), ratio, profile.limits.flops_per_second * 1e-9, largest_copy * 1e-9) +
         formatted("%10s %7s %9s %9s %9s  %-22s %-34s %s\n", "time", "of run", "of limit", "GFLOP/s", "GB/s", "op", "node",
                   "implementation");
}

}  // namespace

std::string to_table(const Profile& profile, size_t rows_max) {
  std::string text = heading(profile);
  const size_t shown = std::min(rows_max, profile.rows.size());
  for (size_t i = 0; i < shown; ++i) text += row_text(profile.rows[i]);
  double rest = 0;
  for (size_t i = shown; i < profile.rows.size(); ++i) rest += profile.rows[i].seconds;
  const double share = profile.run_seconds > 0 ? 100 * rest / profile.run_seconds : 0;
  if (shown < profile.rows.size()) {
    text += formatted("%10s %6.1f%% in %zu further kernels\n", duration(rest).c_str(), share, profile.rows.size() - shown);
  }
  return text;
}

std::string to_json(const Profile& profile) {
  json::PrintedJson kernels = json::PrintedJson::array();
  for (const Profile::Row& row : profile.rows) {
    kernels.push_back({{"node", row.node},
                       {"op", row.op},
                       {"implementation", row.implementation},
                       {"seconds", row.seconds},
                       {"share", row.share},
                       {"of_limit", row.of_limit},
                       {"flops", row.cost.flops},
                       {"bytes", row.cost.bytes}});
  }
  const double largest_copy = profile.limits.copies.empty() ? 0 : profile.limits.copies.back().bytes_per_second;
  const json::PrintedJson json{{"runs", profile.runs},
                               {"run_seconds", profile.run_seconds},
                               {"kernel_seconds", profile.kernel_seconds},
                               {"arena_bytes", profile.arena_bytes},
                               {"lower_bound_bytes", profile.lower_bound_bytes},
                               {"backend", profile.numerics.backend},
                               {"threads", profile.numerics.threads},
                               {"peak_flops_per_second", profile.limits.flops_per_second},
                               {"copy_bytes_per_second", largest_copy},
                               {"kernels", kernels}};
  return shoal::json::text_of(json);
}

void Profiler::run_started(const CompiledProgramInfo& info) {
  if (!program_) {
    program_ = &info;
    info_ = info;
    kernel_seconds_.resize(info.kernels.size());
  }
  watching_ = program_ == &info;
  ran_ = 0;
  if (watching_) run_start_ = now_();
}

void Profiler::run_paused() {
  if (watching_) ran_ += seconds_between(run_start_, now_());
}

void Profiler::run_resumed() {
  if (watching_) run_start_ = now_();
}

void Profiler::kernel_started(size_t) {
  if (watching_) kernel_start_ = now_();
}

void Profiler::kernel_ended(size_t kernel) {
  if (watching_) kernel_seconds_[kernel].push_back(seconds_between(kernel_start_, now_()));
}

void Profiler::run_ended() {
  if (watching_) run_seconds_.push_back(ran_ + seconds_between(run_start_, now_()));
}

Profile Profiler::profile(MachineLimits limits) const {
  SHOAL_CHECK(runs() > 0);
  Profile profile{.rows = {},
                  .runs = runs(),
                  .run_seconds = median(run_seconds_),
                  .arena_bytes = info_.arena_bytes,
                  .lower_bound_bytes = info_.lower_bound_bytes,
                  .numerics = info_.numerics,
                  .limits = std::move(limits)};
  for (size_t i = 0; i < info_.kernels.size(); ++i) {
    const CompiledProgramInfo::KernelInfo& kernel = info_.kernels[i];
    if (kernel_seconds_[i].empty()) continue;
    Profile::Row row{.node = kernel.node, .op = kernel.op, .implementation = kernel.implementation, .cost = kernel.cost};
    row.seconds = median(kernel_seconds_[i]);
    profile.kernel_seconds += row.seconds;
    if (profile.run_seconds > 0) row.share = row.seconds / profile.run_seconds;
    if (row.seconds > 0) row.of_limit = profile.limits.least_seconds(row.cost) / row.seconds;
    profile.rows.push_back(std::move(row));
  }
  std::stable_sort(profile.rows.begin(), profile.rows.end(),
                   [](const Profile::Row& a, const Profile::Row& b) { return a.seconds > b.seconds; });
  return profile;
}

}  // namespace shoal::backends
