// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the system says of this process, under the names that Prometheus' own libraries have for it.
#include <cstdint>
#include <optional>

namespace shoal::monitor {

struct ProcessMeters {
  double cpu_seconds = 0;  ///< Time on a processor of all threads, in the program and in the system.
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t threads = 0;
  double start_time = 0;  ///< When the process began, in seconds since 1970 (UTC).
};

class ProcessReader {
 public:
  ProcessReader();  ///< Reads when the machine was started, which takes longer than all else.
  /// Nothing where /proc is not mounted.
  std::optional<ProcessMeters> read() const;

 private:
  double boot_time_;  // In seconds since 1970; 0: the system does not say.
};

}  // namespace shoal::monitor
