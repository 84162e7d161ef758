// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The rates of all trainers of a job, which its chief reports. They are computed from counters of the first server, which
/// are requested at an interval of steps.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "hooks/progress_hook.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/estimator/interval_timer.h"
#include "shoal/monitor/event_writer.h"

namespace shoal {

/// The rates between two requests for a server's counters.
struct JobRates {
  std::map<int, double> batches_per_sec;  ///< Applied batches per second, by trainer, for all trainers that were ever seen.
  int at_work = 0;                        ///< How many trainers are connected and have not ended.
  std::optional<int> slowest;             ///< The slowest trainer; none if all are about as fast.
  double applied_per_sec = 0;             ///< Applied batches per second of all trainers.
  std::optional<double> loss;             ///< The mean over the applied batches; none if no batch had a finite loss.
  double staleness = 0;                   ///< The mean over the applied batches, in updates.
  uint64_t staleness_max = 0;             ///< The largest staleness since the server was started, in updates.
  uint64_t dropped = 0;                   ///< How many batches were dropped since the server was started.
  double waiting = 0;  ///< The share of the trainers' time that went by waiting for replies to pushes, 0 to 1.
};

/// The rates between two states of the first server's counters, `before` and `now`, which lie `time` apart. Nothing if the
/// server was started or restored in between, or if no time has passed.
std::optional<JobRates> job_rates(const cluster::ServerStatus& before, const cluster::ServerStatus& now, Duration time);
/// "job: 36.9 batches/s by 3 trainers (slowest: trainer 2, 8.20/s), loss = 0.31, staleness 1.9 (at most 4), 0 dropped,
/// waiting 12 %".
std::string to_string(const JobRates& rates);

struct JobMetricsOptions {
  /// The number of global steps between two requests for the servers' counters. Requests are also at least a second apart.
  /// 0: no requests.
  int64_t every_steps = 100;
  monitor::EventWriter* events = nullptr;  ///< Null: no summaries are written.
  std::shared_ptr<ProgressHook> progress;  ///< Shows the newest rates in the progress line.
};

/// Measures the job's rates and reports them. `env` and `servers` outlive the object.
class JobMetrics {
 public:
  JobMetrics(Environment& env, cluster::RemoteStore& servers, JobMetricsOptions options)
      : env_(env), servers_(servers), options_(std::move(options)), timer_(options_.every_steps, std::nullopt) {}

  /// Forgets the counters of the last request, so that the next rates begin anew. Called when training begins, or resumes
  /// at another step.
  void restart();
  /// If the rates are due, asks the first server and reports them to the log, the summaries and the progress line. If the
  /// server does not answer, nothing is reported: the next step meets the same problem and handles it. Errors: those of the
  /// summaries' disk.
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
