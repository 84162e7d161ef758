// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/process_info.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include "cgroup.h"
#include "memory_limit.h"
#include "shoal/base/own_thread.h"
#include "topology.h"

namespace shoal {
namespace {

std::string read_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::string read_temporary_folder() {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  return none ? "/tmp" : folder.string();
}

struct Allowed {
  int cores = 1;
  int processors = 1;
  int slow_cores = 0;
};

Allowed read_allowed() {
  const std::vector<int> numbers = processors_of_process();
  if (numbers.empty()) {
    const int all = std::max(1, int(std::thread::hardware_concurrency()));
    return {.cores = all, .processors = all};
  }
  const std::vector<int> fast = fast_processors(numbers);
  const int cores = std::max(1, count_cores(fast));
  return {.cores = cores, .processors = std::max(1, int(fast.size())), .slow_cores = count_cores(numbers) - cores};
}

}  // namespace

ProcessInfo read_process_info() {
  const CgroupLimits limits = read_cgroup_limits();
  const auto [cores, processors, slow_cores] = read_allowed();
  const MemoryLimit memory = read_memory_limit();
  const bool quota = limits.cores && *limits.cores < cores;
  return {.host_name = read_host_name(),
          .process_id = ::getpid(),
          .program = ::program_invocation_short_name,
          .temporary_folder = read_temporary_folder(),
          // More threads than the CPU quota of the cgroup allows would only wait for each other.
          .usable_cores = quota ? std::max(1, int(*limits.cores)) : cores,
          .slow_cores = slow_cores,
          .slowed_by_heat = is_slowed_by_heat(),
          .usable_processors = processors > cores ? processors : 0,
          .core_quota = quota ? limits.cores : std::nullopt,
          .memory_bytes = memory.bytes,
          .memory_limit = memory.whose};
}

std::string name_of(const ProcessInfo& process) {
  return "process " + std::to_string(process.process_id) + " on " + process.host_name;
}

}  // namespace shoal
