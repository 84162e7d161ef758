// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a process knows of itself and of where it runs. Looked up once, where a program begins, and passed in from there:
/// in a simulation it is what the test says.
#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

struct ProcessInfo {
  std::string host_name = "localhost";
  int64_t process_id = 0;
  /// The name of the program, without its folder; empty if nobody knows.
  std::string program = {};
  std::string temporary_folder = "/tmp";
  /// Cores that the affinity mask has a hyper-thread of, but for `slow_cores`, or whole ones of `core_quota` where that is less; at
  /// least 1.
  int usable_cores = 1;
  /// Further cores of the affinity mask, which have less than half the capacity of its fastest ones (big.LITTLE): a step would wait
  /// for them.
  int slow_cores = 0;
  /// True: the processor runs below its full speed at the moment, because it is too hot.
  bool slowed_by_heat = false;
  /// Processors of the affinity mask, where some are hyper-threads of one core. 0: none are.
  int usable_processors = 0;
  /// Cores that this process's cgroups grant, where that is less than the affinity mask's cores.
  std::optional<double> core_quota = {};
  /// The least of the machine's memory, the limit of this process's cgroup, and its own (ulimit -v, -d). 0: not known.
  uint64_t memory_bytes = 0;
  std::string memory_limit = {};  ///< Which of them it is: "the machine's memory". Empty where it is not known.
};

/// What holds for this process, now.
ProcessInfo read_process_info();

}  // namespace shoal
