// SPDX-License-Identifier: Apache-2.0
// Training in a cluster's chief and workers: opens the task's own port, and delays workers, each one longer than the last.
#include <algorithm>

#include "shoal/cluster/listen.h"
#include "task/task_network.h"
#include "train/train_task.h"

namespace shoal {
namespace {

/// Opens the task's own port. Every task does so first, even if no peer connects to it yet, so that a wrong or taken
/// address shows at once.
Task<Result<std::unique_ptr<transport::Listener>>> open_own_port(Environment& env, const RunConfig& config) {
  if (config.rpc_address().empty()) co_return std::unique_ptr<transport::Listener>();
  SHOAL_CO_TRY(transport::Endpoint at, own_endpoint(config));
  SHOAL_CO_TRY(transport::LinkOptions options, link_options(config));
  const Deadline deadline = env.after(seconds_to_duration(config.ready_timeout_secs()));
  co_return co_await cluster::listen(env, std::move(at), std::move(options), deadline);
}

/// Returns how long a worker waits before its first batch, so that workers do not all begin to train a new model at the
/// same time: worker i waits (i + 1) * 5 s, but at most RunConfig::max_worker_delay_secs.
std::chrono::seconds worker_delay(const RunConfig& config) {
  const int64_t own = (int64_t(config.task_id()) + 1) * 5;
  return std::chrono::seconds(std::min(config.max_worker_delay_secs().value_or(0), own));
}

}  // namespace

bool is_interrupt(const Error& error) { return error.kind() == ErrorKind::kCancelled && !error.cause(); }

Task<Result<TrainOutcome>> trainer_task(Environment& env, const TrainRequest& request) {
  const RunConfig& config = request.estimator.config();
  SHOAL_CO_TRY(const std::unique_ptr<transport::Listener> port, co_await open_own_port(env, config));
  const std::chrono::seconds delay = request.role == TrainRole::kWorker ? worker_delay(config) : std::chrono::seconds(0);
  if (delay.count() > 0) {
    env.log().info("waiting for " + std::to_string(delay.count()) +
                   " s before the first batch, so that workers start one by one");
    SHOAL_CO_TRY_VOID(co_await env.sleep_for(delay, env.interrupted()));
  }
  co_return co_await train_task(env, request);
}

}  // namespace shoal
