// SPDX-License-Identifier: Apache-2.0
#include "process_meters.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace shoal::monitor {
namespace {

/// Returns when this machine was started, in seconds since 1970; 0 if the system does not say.
double read_boot_time() {
  std::ifstream statistics("/proc/stat");
  for (std::string line; std::getline(statistics, line);) {
    std::istringstream fields(line);
    std::string name;
    double seconds = 0;
    if (fields >> name >> seconds && name == "btime") return seconds;
  }
  return 0;
}

}  // namespace

ProcessReader::ProcessReader() : boot_time_(read_boot_time()) {}

std::optional<ProcessMeters> ProcessReader::read() const {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const size_t name_end = line.rfind(')');  // The program's name is in parentheses, and may contain blanks and parentheses.
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream text(line.substr(name_end + 1));
  std::vector<std::string> fields;  // The fields of /proc/self/stat from the third on (proc(5)).
  for (std::string field; text >> field;) fields.push_back(field);
  constexpr size_t kUser = 11, kSystem = 12, kThreads = 17, kStart = 19, kVirtual = 20, kResident = 21;
  if (fields.size() <= kResident) return std::nullopt;
  const auto number = [&fields](size_t at) { return double(std::strtoull(fields[at].c_str(), nullptr, 10)); };
  const double ticks = double(::sysconf(_SC_CLK_TCK));
  return ProcessMeters{.cpu_seconds = (number(kUser) + number(kSystem)) / ticks,
                       .resident_bytes = uint64_t(number(kResident)) * uint64_t(::sysconf(_SC_PAGESIZE)),
                       .virtual_bytes = uint64_t(number(kVirtual)),
                       .threads = uint64_t(number(kThreads)),
                       .start_time = boot_time_ > 0 ? boot_time_ + number(kStart) / ticks : 0};
}

}  // namespace shoal::monitor
