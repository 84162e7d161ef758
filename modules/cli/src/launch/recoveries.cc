// SPDX-License-Identifier: Apache-2.0
#include "launch/recoveries.h"

#include <algorithm>

#include "shoal/base/format.h"

namespace shoal::cli::launch {
namespace {

constexpr size_t kTimesMax = 20;  // Lists at most so many durations per task: a job may run for days.

std::string times_text(const std::vector<double>& seconds) {
  std::string text;
  for (size_t i = 0; i < std::min(seconds.size(), kTimesMax); ++i) {
    text += formatted("%s%.1f", i == 0 ? "" : ", ", seconds[i]);
  }
  if (seconds.size() > kTimesMax) {
    text += formatted(", and so on (at most %.1f)", *std::max_element(seconds.begin(), seconds.end()));
  }
  return text + " s";
}

}  // namespace

Recoveries::Recoveries(std::vector<std::string> names) {
  for (std::string& name : names) tasks_.push_back({.name = std::move(name)});
}

void Recoveries::ended(size_t task, bool by_chaos, SteadyTime now) {
  Entry& entry = tasks_[task];
  // If the task ends again before it has recovered, its downtime still counts from the earlier end.
  if (!entry.awaited_until || *entry.awaited_until <= now)
    entry.ended_at = now;
  entry.awaited_until.reset();
  entry.ended_by_chaos = by_chaos;
}

void Recoveries::started(size_t task, bool has_address, SteadyTime now) {
  Entry& entry = tasks_[task];
  if (!entry.ended_at) return;  // The first start.
  ++entry.starts;
  if (entry.ended_by_chaos) ++entry.by_chaos;
  entry.awaited_until = now + kAwaitedMax;
  if (!has_address) listens(task, now);
}

void Recoveries::listens(size_t task, SteadyTime now) {
  Entry& entry = tasks_[task];
  if (!entry.awaited_until || *entry.awaited_until <= now) return;
  entry.awaited_until.reset();
  entry.away_secs.push_back(to_seconds(now - *entry.ended_at));
}

bool Recoveries::any_awaited(SteadyTime now) const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [now](const Entry& entry) { return entry.awaited_until && *entry.awaited_until > now; });
}

std::vector<std::string> Recoveries::lines() const {
  std::vector<std::string> lines;
  for (const Entry& entry : tasks_) {
    if (entry.starts == 0) continue;
    std::string line =
        entry.name + " was started again " + std::to_string(entry.starts) + (entry.starts == 1 ? " time" : " times");
    if (entry.by_chaos > 0) line += " (" + std::to_string(entry.by_chaos) + " of them after chaos)";
    if (!entry.away_secs.empty()) line += "; it was back after " + times_text(entry.away_secs);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace shoal::cli::launch
