// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the limits that Linux control groups set for this process.
#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

struct CgroupLimits {
  std::optional<uint64_t> memory_bytes;  ///< Empty: no limit.
  std::optional<double> cores;           ///< A number of cores: 0.5 is half the time of one. Empty: no limit.
  std::optional<uint64_t> processes;     ///< Processes and threads together. Empty: no limit.
};

/// The least limit among this process's control groups and their parents, of version 2 (`memory.max`, `cpu.max`,
/// `pids.max`) and of version 1 (`memory.limit_in_bytes`, `cpu.cfs_quota_us` over `cpu.cfs_period_us`, `pids.max`). A file
/// that is missing or malformed limits nothing. Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and
/// cgroup-v1/memory.rst, scheduler/sched-bwc.rst. `root`: the folder that contains /proc and /sys (tests have their own).
CgroupLimits read_cgroup_limits(const std::string& root = "");

}  // namespace shoal
