// SPDX-License-Identifier: Apache-2.0
#include "topology.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shoal/base/kernel_file.h"

namespace shoal {
namespace {

struct Range {
  int first, last;
};

/// The ranges of a list in the kernel's format, "0,64" or "0-1,8-9"; empty if `text` is no such list.
std::vector<Range> parse_list(std::string_view text) {
  std::vector<Range> ranges;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    Range range{};
    auto read = std::from_chars(at, end, range.first);
    if (read.ec != std::errc()) return {};
    range.last = range.first;
    if (read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, range.last);
    if (read.ec != std::errc() || range.first < 0 || range.last < range.first) return {};
    ranges.push_back(range);
    if (read.ptr == end) return ranges;
    if (*read.ptr != ',') return {};
    at = read.ptr + 1;
  }
}

/// Nothing if the file cannot be read or its first line is empty.
std::optional<std::string> first_word(const std::string& path) {
  KernelFile file(path);
  const std::vector<std::string_view> words = split_at_blanks(file.line().value_or(""));
  return words.empty() ? std::nullopt : std::optional<std::string>(words[0]);
}

/// The lowest number among the processors that share a core with `number`; nothing if the file does not say.
std::optional<int> first_sibling(int number, const std::string& file) {
  const std::optional<std::string> text = first_word(file);
  if (!text) return std::nullopt;
  std::optional<int> least;
  bool has_itself = false;
  for (const Range& range : parse_list(*text)) {
    least = std::min(least.value_or(range.first), range.first);
    has_itself = has_itself || (range.first <= number && number <= range.last);
  }
  return has_itself ? least : std::nullopt;
}

}  // namespace

int count_cores(std::span<const int> numbers, const std::string& root) {
  std::set<int> cores;  // Each core is represented by the lowest number of its hyper-threads.
  for (const int number : numbers) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/";
    std::optional<int> first = first_sibling(number, folder + "core_cpus_list");
    if (!first) first = first_sibling(number, folder + "thread_siblings_list");
    cores.insert(first.value_or(number));
  }
  return int(cores.size());
}

std::vector<int> fast_processors(std::span<const int> numbers, const std::string& root) {
  std::vector<int> capacities;
  int largest = 0;
  for (const int number : numbers) {
    const auto capacity =
        numbers_in<int>(root + "/sys/devices/system/cpu/cpu" + std::to_string(number) + "/cpu_capacity", 1)[0];
    if (!capacity || *capacity <= 0) return {numbers.begin(), numbers.end()};
    capacities.push_back(*capacity);
    largest = std::max(largest, *capacity);
  }
  std::vector<int> fast;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (capacities[i] >= largest - capacities[i]) fast.push_back(numbers[i]);
  }
  return fast;
}

bool is_slowed_by_heat(const std::string& root) {
  for (int device = 0;; ++device) {
    const std::string folder = root + "/sys/class/thermal/cooling_device" + std::to_string(device) + "/";
    const std::optional<std::string> type = first_word(folder + "type");
    if (!type) return false;  // Device numbers have no gaps, so this was the last device.
    const bool of_processor = *type == "Processor" || type->find("cpufreq") != std::string::npos;
    if (of_processor && numbers_in<int>(folder + "cur_state", 1)[0].value_or(0) > 0) return true;
  }
}

}  // namespace shoal
