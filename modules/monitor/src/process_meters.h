// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics of this process from the system, named as in Prometheus' own libraries.
#include <cstdint>
#include <optional>

namespace shoal::monitor {

struct ProcessMeters {
  double cpu_seconds = 0;  ///< Processor time of all threads, user and system time together.
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t threads = 0;
  double start_time = 0;  ///< When the process began, in seconds since 1970 (UTC).
};

class ProcessReader {
 public:
  ProcessReader();  ///< Reads the boot time once, because that is slow.
  /// Nothing if /proc is not mounted.
  std::optional<ProcessMeters> read() const;

 private:
  double boot_time_;  // In seconds since 1970; 0 if the system does not say.
};

}  // namespace shoal::monitor
