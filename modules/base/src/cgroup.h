// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the control groups of Linux let a process have.
#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

struct CgroupLimits {
  std::optional<uint64_t> memory_bytes;  ///< Empty: no limit.
  std::optional<double> cores;           ///< Processor time over time: half a core is 0.5. Empty: no limit.
  std::optional<uint64_t> processes;     ///< And threads. Empty: no limit.
};

/// The least of the limits of this process's groups and of those above them, of version 2 (`memory.max`, `cpu.max`, `pids.max`) and
/// of version 1 (`memory.limit_in_bytes`, `cpu.cfs_quota_us` over `cpu.cfs_period_us`, `pids.max`); files that are missing, or say
/// something else, limit nothing. Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst,
/// scheduler/sched-bwc.rst. `root`: where /proc and /sys are (a test has its own).
CgroupLimits read_cgroup_limits(const std::string& root = "");

}  // namespace shoal
