// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What all trainers of a job do, as its chief tells it: from the counts of the first server, every so many steps.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "hooks/progress_hook.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/estimator/interval_timer.h"
#include "shoal/monitor/event_writer.h"

namespace shoal {

/// The rates of an interval between two looks at a server's counts.
struct JobRates {
  std::map<int, double> batches_per_sec;  ///< Applied batches, by trainer, of all that were seen so far.
  int at_work = 0;                        ///< How many trainers are connected and have not ended.
  std::optional<int> slowest;             ///< The trainer that is behind; nothing if all are about as fast.
  double applied_per_sec = 0;             ///< The rate of all trainers.
  std::optional<double> loss;             ///< The mean over the applied batches; nothing if none had a finite one.
  double staleness = 0;                   ///< The mean over the applied batches, in updates.
  uint64_t staleness_max = 0;             ///< The largest since the server was started.
  uint64_t dropped = 0;                   ///< How many since the server was started.
  double waiting = 0;  ///< The share of the trainers' time that they waited for replies to pushes, 0 to 1.
};

/// Nothing if the server has been started or restored in between, or no time has passed.
std::optional<JobRates> job_rates(const cluster::ServerStatus& before, const cluster::ServerStatus& now, Duration time);
/// "job: 36.9 batches/s by 3 trainers (slowest: trainer 2, 8.20/s), loss = 0.31, staleness 1.9 (at most 4), 0 dropped,
/// waiting 12 %".
std::string to_string(const JobRates& rates);

struct JobMetricsOptions {
  /// Global steps from one look to the next, which comes a second later at least; 0 for never.
  int64_t every_steps = 100;
  monitor::EventWriter* events = nullptr;  ///< Null for no summaries.
  std::shared_ptr<ProgressHook> progress;  ///< Shows the newest rates.
};

/// `env` and `servers` outlive it.
class JobMetrics {
 public:
  JobMetrics(Environment& env, cluster::RemoteStore& servers, JobMetricsOptions options)
      : env_(env), servers_(servers), options_(std::move(options)), timer_(options_.every_steps, std::nullopt) {}

  /// Training begins, or goes on from another point: the next look is the first again.
  void restart();
  /// Asks the first server if it is time to, and tells the log, the summaries and the progress line. Where there is no
  /// answer nothing is told: the next step will find out why. Errors of the summaries' disk.
  Task<Result<void>> after_step(uint64_t global_step);

 private:
  Result<void> tell(uint64_t global_step, const JobRates& rates);

  Environment& env_;
  cluster::RemoteStore& servers_;
  JobMetricsOptions options_;
  IntervalTimer timer_;
  std::optional<cluster::ServerStatus> seen_;
  SteadyTime next_look_{};
};

}  // namespace shoal
