// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Facts about the process and its machine. A program reads them once at its start and passes them on; in a simulation the
/// test makes them up.
#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

struct ProcessInfo {
  std::string host_name = "localhost";
  int64_t process_id = 0;
  /// The name of the program, without its folder; empty if it is not known.
  std::string program = {};
  std::string temporary_folder = "/tmp";
  /// The number of cores on which this process should compute: those of the affinity mask that are not slow (`slow_cores`),
  /// but no more than `core_quota`, rounded down; at least 1. A core counts even if the mask has only one of its
  /// hyper-threads.
  int usable_cores = 1;
  /// The number of cores of the affinity mask that have less than half the capacity of the mask's fastest cores
  /// (big.LITTLE). Programs do not compute on them, since each step would wait for them; `usable_cores` leaves them out.
  int slow_cores = 0;
  /// True if the processor runs below its full speed at the moment because it is too hot.
  bool slowed_by_heat = false;
  /// The number of processors of the affinity mask, if it exceeds the number of their cores (hyper-threads); else 0.
  int usable_processors = 0;
  /// The number of cores that this process's cgroups grant. Empty unless it is smaller than that of the affinity mask.
  std::optional<double> core_quota = {};
  /// The least of the machine's memory, the limit of this process's cgroup, and the process's limits (ulimit -v, -d). 0:
  /// not known.
  uint64_t memory_bytes = 0;
  std::string memory_limit = {};  ///< Names the limit that gave memory_bytes: "the machine's memory". Empty if not known.
};

/// Reads the facts about this process, as they are now.
ProcessInfo read_process_info();

/// Returns a name by which messages can refer to the process: "process 4711 on board7".
std::string name_of(const ProcessInfo& process);

}  // namespace shoal
