// SPDX-License-Identifier: Apache-2.0
#include "process_meters.h"

#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/kernel_file.h"
#include "shoal/base/number_text.h"

namespace shoal::monitor {
namespace {

/// Returns when this machine was started, in seconds since 1970; 0 if the system does not say.
double read_boot_time() {
  KernelFile statistics("/proc/stat");
  while (const auto line = statistics.line()) {
    const std::vector<std::string_view> fields = split_at_blanks(*line);
    if (fields.size() == 2 && fields[0] == "btime") return double(number_from<uint64_t>(fields[1]).value_or(0));
  }
  return 0;
}

}  // namespace

ProcessReader::ProcessReader() : boot_time_(read_boot_time()) {}

std::optional<ProcessMeters> ProcessReader::read() const {
  // A program's name may contain blanks, parentheses and line ends, and is in parentheses, before numbers of one line.
  KernelFile file("/proc/self/stat");
  std::optional<std::string> rest;
  while (const auto line = file.line()) {
    if (const size_t end = line->rfind(')'); end != std::string_view::npos) rest = line->substr(end + 1);
  }
  if (!rest) return std::nullopt;
  const std::vector<std::string_view> fields = split_at_blanks(*rest);  // From the third field on (proc(5)).
  constexpr size_t kUser = 11, kSystem = 12, kThreads = 17, kStart = 19, kVirtual = 20, kResident = 21;
  if (fields.size() <= kResident) return std::nullopt;
  const auto number = [&fields](size_t at) { return double(number_from<uint64_t>(fields[at]).value_or(0)); };
  const double ticks = double(::sysconf(_SC_CLK_TCK));
  return ProcessMeters{.cpu_seconds = (number(kUser) + number(kSystem)) / ticks,
                       .resident_bytes = uint64_t(number(kResident)) * uint64_t(::sysconf(_SC_PAGESIZE)),
                       .virtual_bytes = uint64_t(number(kVirtual)),
                       .threads = uint64_t(number(kThreads)),
                       .start_time = boot_time_ > 0 ? boot_time_ + number(kStart) / ticks : 0};
}

}  // namespace shoal::monitor
