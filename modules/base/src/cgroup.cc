// SPDX-License-Identifier: Apache-2.0
#include "cgroup.h"

#include <algorithm>
#include <vector>

#include "shoal/base/kernel_file.h"

namespace shoal {
namespace {

template <class T>
void lower(std::optional<T>& limit, T to) {
  limit = limit ? std::min(*limit, to) : to;
}

// Lowers the limit to the number in `file`. A file that says "max" or -1 sets no limit: numbers_in() returns nothing for
// it, since neither is an unsigned number.
void lower_memory(CgroupLimits& limits, const std::string& file) {
  constexpr uint64_t kNoLimit = uint64_t(1) << 62;  // Cgroup version 1 writes "no limit" as a larger number.
  const auto bytes = numbers_in<uint64_t>(file, 1)[0];
  if (bytes && *bytes < kNoLimit) lower(limits.memory_bytes, *bytes);
}

void lower_cores(CgroupLimits& limits, std::optional<uint64_t> quota, std::optional<uint64_t> period) {
  if (quota && period && *quota > 0 && *period > 0) lower(limits.cores, double(*quota) / double(*period));
}

void lower_processes(CgroupLimits& limits, const std::string& file) {
  if (const auto count = numbers_in<uint64_t>(file, 1)[0]) lower(limits.processes, *count);
}

bool names(const std::string& controllers, const std::string& controller) {
  return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

/// Calls `look` for the control group with the path `group` and for each of its parents, up to the root, "". Inside a
/// container the kernel may report the path that the group has on the host, while its files are at the root.
template <class Look>
void for_each_above(std::string group, const Look& look) {
  for (;; group.resize(group.rfind('/'))) {
    if (group == "/") group.clear();
    look(group);
    if (group.empty() || group.rfind('/') == std::string::npos) return;
  }
}

}  // namespace

CgroupLimits read_cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  const std::string mounts = root + "/sys/fs/cgroup";
  KernelFile groups(root + "/proc/self/cgroup");
  while (const auto read = groups.line()) {  // Cgroup v1: "4:cpu,cpuacct:/group"; cgroup v2: "0::/group".
    const std::string line(*read);
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty(), memory = names(controllers, "memory"), cpu = names(controllers, "cpu"),
               pids = names(controllers, "pids");
    for_each_above(line.substr(second + 1), [&](const std::string& group) {
      if (unified) {
        lower_memory(limits, mounts + group + "/memory.max");
        lower_processes(limits, mounts + group + "/pids.max");
        const auto cores = numbers_in<uint64_t>(mounts + group + "/cpu.max", 2);
        lower_cores(limits, cores[0], cores[1]);
      }
      if (memory) lower_memory(limits, mounts + "/memory" + group + "/memory.limit_in_bytes");
      if (pids) lower_processes(limits, mounts + "/pids" + group + "/pids.max");
      if (cpu) {  // The mount may be "cpu,cpuacct"; systemd and Docker then make a link "cpu" to it.
        const std::string folder = mounts + "/cpu" + group;
        lower_cores(limits, numbers_in<uint64_t>(folder + "/cpu.cfs_quota_us", 1)[0],
                    numbers_in<uint64_t>(folder + "/cpu.cfs_period_us", 1)[0]);
      }
    });
  }
  return limits;
}

}  // namespace shoal
