// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which of the processors that the system shows are hyper-threads of one core, which are slow, and whether heat slows them.
#include <span>
#include <string>
#include <vector>

namespace shoal {

/// How many cores the processors `numbers` (as an affinity mask counts them) are of: hyper-threads of one core count once,
/// by `topology/core_cpus_list` of each or, before Linux 5.3, `thread_siblings_list`. One whose files are missing, or say
/// something else, is a core of its own. Source: the kernel's Documentation/admin-guide/cputopology.rst. `root`: where
/// /sys is (a test has its own).
int count_cores(std::span<const int> numbers, const std::string& root = "");

/// Those of the processors `numbers` whose cores have at least half the capacity of the fastest among them, by `cpu_capacity` of each
/// (the kernel's measure of work in a given time: 1024 is the fastest core of the machine). All of them where a file is missing or
/// says something else. Source: Documentation/scheduler/sched-capacity.rst and Documentation/ABI/testing/sysfs-devices-system-cpu.
std::vector<int> fast_processors(std::span<const int> numbers, const std::string& root = "");

/// True if the kernel has slowed a processor down because of its heat: a cooling device of /sys/class/thermal whose type is that of a
/// processor ("cpufreq-cpu0", "thermal-cpufreq-0", "Processor") has a `cur_state` above 0. False where nothing is known of it, as on
/// boards whose firmware does it alone. Source: Documentation/driver-api/thermal/sysfs-api.rst.
bool is_slowed_by_heat(const std::string& root = "");

}  // namespace shoal
