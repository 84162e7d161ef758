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
};

Allowed read_allowed() {
  const std::vector<int> numbers = processors_of_process();
  if (numbers.empty()) {
    const int all = std::max(1, int(std::thread::hardware_concurrency()));
    return {all, all};
  }
  return {std::max(1, count_cores(numbers)), std::max(1, int(numbers.size()))};
}

}  // namespace

ProcessInfo read_process_info() {
  const CgroupLimits limits = read_cgroup_limits();
  const auto [cores, processors] = read_allowed();
  const bool quota = limits.cores && *limits.cores < cores;
  return {.host_name = read_host_name(),
          .process_id = ::getpid(),
          .program = ::program_invocation_short_name,
          .temporary_folder = read_temporary_folder(),
          // Threads beyond a quota would only wait for each other, each on its own share of it.
          .usable_cores = quota ? std::max(1, int(*limits.cores)) : cores,
          .usable_processors = processors > cores ? processors : 0,
          .core_quota = quota ? limits.cores : std::nullopt,
          .memory_bytes = read_memory_limit().bytes};
}

}  // namespace shoal
