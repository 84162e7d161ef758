// SPDX-License-Identifier: Apache-2.0
#include "task/memory_budget.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/base/resident_bytes.h"

namespace shoal {
namespace {

constexpr double kMiB = 1 << 20;
// An allowance for memory that is used later: pages of the program that are touched for the first time, stacks of threads,
// and memory that libraries keep. It was measured on the examples (docs/memory.md).
constexpr uint64_t kCodeBytes = uint64_t(4) << 20;

}  // namespace

MemoryBudget::MemoryBudget(const RunConfig& config) : limit_(uint64_t(config.memory_limit().value_or(0))) {
  measure();
  set("code and threads", kCodeBytes);
}

void MemoryBudget::measure() {
  if (limit_ != 0) set("the process so far", resident_bytes(), "input that is read as it is needed");
}

void MemoryBudget::set(std::string_view part, uint64_t bytes, std::string_view remedy) {
  const auto found = std::ranges::find(parts_, part, &Part::name);
  if (found != parts_.end()) {
    found->bytes = bytes;
  } else {
    parts_.push_back({std::string(part), bytes, std::string(remedy)});
  }
}

uint64_t MemoryBudget::total() const {
  uint64_t sum = 0;
  for (const Part& part : parts_) {
    if (__builtin_add_overflow(sum, part.bytes, &sum)) return UINT64_MAX;
  }
  return sum;
}

std::string MemoryBudget::text() const {
  std::string list;
  for (const Part& part : parts_) {
    if (part.bytes > 0) list += (list.empty() ? "" : ", ") + part.name + formatted(" %.1f", double(part.bytes) / kMiB);
  }
  return formatted("%.1f MiB (", double(total()) / kMiB) + list + ")";
}

Result<void> MemoryBudget::check(std::string_view whose) const {
  if (limit_ == 0 || total() <= limit_) return {};
  std::vector<Part> largest = parts_;
  std::ranges::stable_sort(largest, std::ranges::greater(), &Part::bytes);
  std::vector<std::string> remedies;
  for (const Part& part : largest) {
    if (!part.remedy.empty() && std::ranges::find(remedies, part.remedy) == remedies.end()) remedies.push_back(part.remedy);
  }
  std::string advice;
  for (const std::string& remedy : remedies) advice += (advice.empty() ? "; what helps, the most first: " : ", ") + remedy;
  return failed_precondition(std::string(whose) + " takes " + text() +
                             formatted(", and runtime.memory_limit is %.1f MiB", double(limit_) / kMiB) + advice);
}

}  // namespace shoal
