#include "shoal/base/process_info.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "shoal/base/production.h"

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

std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  uint64_t number = 0;
  if (!(file >> text)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;  // "max": no limit
  return number;
}

/// The least limit of this process's cgroup and those above it (version 2), or of its memory controller (version 1, where
/// "no limit" is a number beyond any machine).
uint64_t cgroup_memory_bytes() {
  uint64_t least = UINT64_MAX;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers.find("memory") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const std::string name = unified ? "memory.max" : "memory.limit_in_bytes";
    for (std::string group = line.substr(second + 1);; group.resize(group.rfind('/'))) {
      if (group == "/") group.clear();
      if (const auto limit = number_in(root + group + "/" + name)) least = std::min(least, *limit);
      if (group.empty() || group.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}

uint64_t read_memory_bytes() {
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  const uint64_t machine = pages > 0 && page_bytes > 0 ? uint64_t(pages) * uint64_t(page_bytes) : 0;
  const uint64_t limit = cgroup_memory_bytes();
  return machine == 0 && limit == UINT64_MAX ? 0 : std::min(machine == 0 ? UINT64_MAX : machine, limit);
}

}  // namespace

ProcessInfo read_process_info() {
  return {.host_name = read_host_name(),
          .process_id = ::getpid(),
          .temporary_folder = read_temporary_folder(),
          .usable_cores = usable_cores(),
          .memory_bytes = read_memory_bytes()};
}

}  // namespace shoal
