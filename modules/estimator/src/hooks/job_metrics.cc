// SPDX-License-Identifier: Apache-2.0
#include "hooks/job_metrics.h"

#include <algorithm>

#include "shoal/base/compute.h"
#include "shoal/base/format.h"

namespace shoal {
namespace {

using cluster::PushCounts;
using cluster::ServerStatus;
using cluster::TrainerStatus;

// The time limit of one request for the servers' counters, which this task sends between two steps. A save has the same
// limit.
constexpr auto kAnswerTimeout = std::chrono::seconds(60);
// The least time between two requests for the servers' counters, since many trainers make many steps in a short time.
constexpr auto kMetricsEvery = std::chrono::seconds(1);
constexpr double kBehind = 0.9;  // A trainer with less than this share of the fastest trainer's rate is called slow.

PushCounts counts_of(const ServerStatus& status, int trainer) {
  const auto found = std::ranges::find(status.trainers, trainer, &TrainerStatus::index);
  return found == status.trainers.end() ? PushCounts{} : found->pushes;
}

bool at_work(const TrainerStatus& trainer) { return trainer.connected && !trainer.done; }

/// Sums the counters of all trainers' pushes since the server was started.
PushCounts sum_of(const ServerStatus& status) {
  PushCounts sum;
  for (const TrainerStatus& trainer : status.trainers) {
    sum.applied += trainer.pushes.applied;
    sum.dropped += trainer.pushes.dropped;
    sum.staleness += trainer.pushes.staleness;
    sum.staleness_max = std::max(sum.staleness_max, trainer.pushes.staleness_max);
    sum.losses += trainer.pushes.losses;
    sum.loss += trainer.pushes.loss;
    sum.waited_secs += trainer.pushes.waited_secs;
  }
  return sum;
}

/// True if the server was started again between two requests: its counters, which otherwise only grow, have fallen.
bool was_started_again(const ServerStatus& before, const ServerStatus& now) {
  if (before.epoch != now.epoch) return true;
  return std::ranges::any_of(before.trainers, [&now](const TrainerStatus& trainer) {
    return counts_of(now, trainer.index).applied < trainer.pushes.applied;
  });
}

}  // namespace

std::optional<JobRates> job_rates(const ServerStatus& before, const ServerStatus& now, Duration time) {
  const double seconds = to_seconds(time);
  if (seconds <= 0 || was_started_again(before, now)) return std::nullopt;
  JobRates rates;
  double fastest = 0;
  for (const TrainerStatus& trainer : now.trainers) {
    const uint64_t applied = trainer.pushes.applied - counts_of(before, trainer.index).applied;
    const double rate = rates.batches_per_sec[trainer.index] = double(applied) / seconds;
    if (!at_work(trainer)) continue;
    ++rates.at_work;
    fastest = std::max(fastest, rate);
    if (!rates.slowest || rate < rates.batches_per_sec[*rates.slowest]) rates.slowest = trainer.index;
  }
  if (rates.slowest && rates.batches_per_sec[*rates.slowest] > kBehind * fastest) rates.slowest.reset();
  const PushCounts first = sum_of(before), last = sum_of(now);
  const auto applied = double(last.applied - first.applied), losses = double(last.losses - first.losses);
  rates.applied_per_sec = applied / seconds;
  if (losses > 0) rates.loss = (last.loss - first.loss) / losses;
  if (applied > 0) rates.staleness = double(last.staleness - first.staleness) / applied;
  rates.staleness_max = last.staleness_max;
  rates.dropped = last.dropped;
  const double waited = last.waited_secs - first.waited_secs;
  if (rates.at_work > 0) rates.waiting = std::clamp(waited / (seconds * rates.at_work), 0.0, 1.0);
  return rates;
}

std::string to_string(const JobRates& rates) {
  std::string text = "job: " + monitor::format_rate(rates.applied_per_sec) + " batches/s by " +
                     std::to_string(rates.at_work) + (rates.at_work == 1 ? " trainer" : " trainers");
  if (rates.slowest) {
    text += " (slowest: trainer " + std::to_string(*rates.slowest) + ", " +
            monitor::format_rate(rates.batches_per_sec.at(*rates.slowest)) + "/s)";
  }
  if (rates.loss) text += formatted(", loss = %.6g", *rates.loss);
  text += formatted(", staleness %.3g", rates.staleness) + " (at most " + std::to_string(rates.staleness_max) + "), " +
          std::to_string(rates.dropped) + " dropped" + formatted(", waiting %.0f %%", 100 * rates.waiting);
  return text;
}

void JobMetrics::restart() {
  timer_.reset();
  seen_.reset();
}

Task<Result<void>> JobMetrics::after_step(uint64_t global_step) {
  const bool first = !seen_;
  if (!timer_.due(global_step, env_.now()) || (!first && env_.now() < next_look_)) co_return Result<void>{};
  Result<ServerStatus> status = co_await servers_.look(env_.after(kAnswerTimeout));
  const Duration time = timer_.trigger(global_step, env_.now()).time;
  next_look_ = env_.after(kMetricsEvery);
  if (!status) {
    seen_.reset();
    co_return Result<void>{};
  }
  const std::optional<JobRates> rates = seen_ ? job_rates(*seen_, *status, time) : std::nullopt;
  seen_ = std::move(status).value();
  if (!rates) co_return Result<void>{};
  const auto tell_them = [this, global_step, &rates] { return tell(global_step, *rates); };
  co_return co_await compute(env_, tell_them);
}

Result<void> JobMetrics::tell(uint64_t global_step, const JobRates& rates) {
  env_.log().info(to_string(rates));
  options_.progress->set_note(monitor::format_rate(rates.applied_per_sec) + " batches/s in all" +
                              formatted(", staleness %.3g", rates.staleness));
  if (!options_.events) return {};
  const auto add = [this, global_step](std::string_view tag, double value) {
    return options_.events->add_scalar(int64_t(global_step), tag, value);
  };
  SHOAL_TRY_VOID(add("job/batches_per_sec", rates.applied_per_sec));
  if (rates.loss) SHOAL_TRY_VOID(add("job/loss", *rates.loss));
  SHOAL_TRY_VOID(add("job/staleness", rates.staleness));
  SHOAL_TRY_VOID(add("job/staleness_max", double(rates.staleness_max)));
  SHOAL_TRY_VOID(add("job/dropped", double(rates.dropped)));
  SHOAL_TRY_VOID(add("job/waiting", rates.waiting));
  for (const auto& [trainer, rate] : rates.batches_per_sec) {
    SHOAL_TRY_VOID(add("trainer_" + std::to_string(trainer) + "/batches_per_sec", rate));
  }
  return {};
}

}  // namespace shoal
