// SPDX-License-Identifier: Apache-2.0
#include "train/worker_rest.h"

#include "shoal/base/compute.h"

namespace shoal {
namespace {

constexpr auto kTellRestEvery = std::chrono::minutes(1);

class WorkerRest {
 public:
  WorkerRest(TrainScope& scope, WorkerRestOptions options)
      : env_(scope.env),
        options_(std::move(options)),
        ready_timeout_(scope.ready_timeout()),
        global_step_(scope.context.global_step()),
        chief_seen_(env_.now()) {}

  Task<Result<void>> run();

 private:
  Task<Result<bool>> is_over(const cluster::RestNews& news);
  void tell(const cluster::RestNews& news);

  Environment& env_;
  WorkerRestOptions options_;
  const Duration ready_timeout_;
  const uint64_t global_step_;
  SteadyTime chief_seen_;
  std::optional<SteadyTime> next_note_;  // When the next log line is due. None before the first line.
};

Task<Result<void>> WorkerRest::run() {
  const cluster::Rest rest{
      .newest_push = 0, .input_ended = options_.input_ended, .stopped_by_job = options_.stopped_by_job, .waits = true};
  while (!env_.interrupted().stop_requested() && !options_.servers.job_end()) {
    Result<cluster::RestNews> news = co_await options_.servers.rest(rest, env_.after(ready_timeout_));
    if (!news && news.error().kind() == ErrorKind::kCancelled) break;
    SHOAL_CO_TRY_VOID(news);
    SHOAL_CO_TRY(const bool over, co_await is_over(*news));
    if (over) break;
    tell(*news);
  }
  co_return Result<void>{};
}

/// Whether the job has ended. If the chief was killed, no server announces the end, but the chief may have written the end
/// mark before: a file in model_dir that says that training has ended.
Task<Result<bool>> WorkerRest::is_over(const cluster::RestNews& news) {
  if (news.chief_connected) {
    chief_seen_ = env_.now();
    co_return false;
  }
  const auto look = [this] { return options_.folder.job_has_ended(); };
  SHOAL_CO_TRY(const bool ended, co_await compute(env_, look));
  if (ended) co_return true;
  if (env_.now() - chief_seen_ < ready_timeout_) co_return false;
  co_return deadline_exceeded(
      "waiting for the chief to save the last checkpoint and to announce the end of the job: it has " +
      std::string("not been connected for ") + std::to_string(int64_t(to_seconds(ready_timeout_))) +
      " s; start it, or the whole job, again, and training goes on from the newest checkpoint");
}

void WorkerRest::tell(const cluster::RestNews& news) {
  if (next_note_ && env_.now() < *next_note_) return;
  const std::string whom = news.at_work.empty() ? "the chief to end the job" : news.at_work;
  env_.log().info("this worker is through (" + options_.why + ") at global step " + std::to_string(global_step_) +
                  "; it stays until the last checkpoint is saved, waiting for " + whom);
  next_note_ = env_.after(kTellRestEvery);
}

}  // namespace

Task<Result<void>> rest_until_the_end(TrainScope& scope, WorkerRestOptions options) {
  WorkerRest rest(scope, std::move(options));
  co_return co_await rest.run();
}

}  // namespace shoal
