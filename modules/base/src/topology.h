// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Properties of processors: which are hyper-threads of one core, which are slow, and whether heat slows them down.
#include <span>
#include <string>
#include <vector>

namespace shoal {

/// The number of cores to which the processors `numbers` belong. (Processors have the numbers that an affinity mask uses.)
/// Processors that are hyper-threads of one core count as one core. Each processor's file `topology/core_cpus_list` (before
/// Linux 5.3 `thread_siblings_list`) lists these hyper-threads. A processor whose files are missing or malformed counts as
/// a core of its own. Source: the kernel's Documentation/admin-guide/cputopology.rst. `root`: the folder that contains /sys
/// (tests have their own).
int count_cores(std::span<const int> numbers, const std::string& root = "");

/// The processors among `numbers` whose cores have at least half the capacity of the fastest, according to each processor's
/// file `cpu_capacity` (the kernel's measure of work in a given time; the machine's fastest core has 1024). All of them if
/// a file is missing or malformed. Source: Documentation/scheduler/sched-capacity.rst and
/// Documentation/ABI/testing/sysfs-devices-system-cpu.
std::vector<int> fast_processors(std::span<const int> numbers, const std::string& root = "");

/// True if the kernel has slowed a processor down because it is hot: a device of /sys/class/thermal that cools a processor
/// (its type is "cpufreq-cpu0", "thermal-cpufreq-0" or "Processor") has a `cur_state` above 0. False if the kernel does not
/// know, as on boards whose firmware slows the processor by itself. Source: Documentation/driver-api/thermal/sysfs-api.rst.
bool is_slowed_by_heat(const std::string& root = "");

}  // namespace shoal
