// SPDX-License-Identifier: Apache-2.0
#include "launch/lost_steps.h"

#include <algorithm>
#include <optional>

#include "shoal/base/number_text.h"

namespace shoal::cli::launch {
namespace {

/// Removes a number from the front of `text` and returns it.
std::optional<uint64_t> take_number(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return number_from<uint64_t>(digits);
}

}  // namespace

void LostSteps::heed(size_t task, std::string_view line) {
  static constexpr std::string_view kFall = "global step goes back from ", kTo = " to ";
  const size_t begin = line.find(kFall);
  if (begin == std::string_view::npos) return;
  line.remove_prefix(begin + kFall.size());
  const std::optional<uint64_t> from = take_number(line);
  if (!from || !line.starts_with(kTo)) return;
  line.remove_prefix(kTo.size());
  const std::optional<uint64_t> to = take_number(line);
  if (!to || *to >= *from) return;
  Fall& fall = tasks_[task][*to];
  fall.steps += *from - *to;
  ++fall.times;
}

/// Returns a line with the number of steps by which the global step went back, over all recoveries. Every trainer logs the
/// same recovery, so only the largest of their numbers is added.
std::string LostSteps::line() const {
  std::map<uint64_t, Fall> falls;
  for (const auto& task : tasks_) {
    for (const auto& [to, fall] : task) {
      Fall& most = falls[to];
      most.steps = std::max(most.steps, fall.steps);
      most.times = std::max(most.times, fall.times);
    }
  }
  Fall all;
  for (const auto& [to, fall] : falls) {
    all.steps += fall.steps;
    all.times += fall.times;
  }
  if (all.times == 0) return {};
  return "servers lost what they held " + std::to_string(all.times) + (all.times == 1 ? " time" : " times") +
         ", and the job went on from a checkpoint: " + std::to_string(all.steps) +
         (all.steps == 1 ? " step was" : " steps were") + " made again";
}

}  // namespace shoal::cli::launch
