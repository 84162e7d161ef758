// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The state that all parts of one training run share.
#include <optional>

#include "hooks/loop_context.h"
#include "shoal/cluster/run_identity.h"
#include "train/train_request.h"

namespace shoal {

/// The state of one training run. It lives until the run ends, and refers to `request`, which has to live longer.
struct TrainScope {
  TrainScope(Environment& environment, const TrainRequest& what)
      : env(environment), request(what), started(env.now()), context(env, config().host().get()) {}

  /// The id and seed of this run, found by TrainerFolder::look(). A worker may learn them only when the servers have the
  /// model. Until then it uses a seed that it draws itself.
  cluster::RunIdentity run = {};

  /// True if the servers have the model of another run, to which this task does not belong. If this task fails, it then
  /// does not report its failure to the servers.
  bool is_stranger = false;

  /// Set by a chief that has asked the servers to let it lead: the number by which they know this process. All its
  /// connections state the same one, since servers take a chief of another number for a second chief.
  std::optional<uint64_t> incarnation = {};

  Environment& env;
  const TrainRequest& request;
  const SteadyTime started;
  LoopContext context;

  const RunConfig& config() const { return request.estimator.config(); }
  const std::string& model_dir() const { return request.estimator.model_dir(); }
  Duration ready_timeout() const { return seconds_to_duration(config().ready_timeout_secs()); }
  /// True if the task initializes the model, saves it and ends the job: the chief, or the process that trains alone.
  bool leads() const { return request.role != TrainRole::kWorker; }
  /// True if the task writes training summaries and the steps per second. This is the leading task, except if a master has
  /// workers: then it is the first worker, because a master's long evaluations would leave gaps in its records.
  bool records() const {
    const bool master = config().task().job.chief_role() == cluster::kMasterRole;
    return master && config().num_trainers() > 1 ? config().trainer_index() == 1 : leads();
  }
  /// True if the model lies on parameter servers.
  bool distributed() const { return request.role != TrainRole::kLocal && config().num_ps_replicas() > 0; }
};

}  // namespace shoal
