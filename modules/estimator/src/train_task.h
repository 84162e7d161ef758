#pragma once
/// Training as one task does it: local process, chief or worker. The three differ in the store and in who saves.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/checkpoint/end_mark.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/task_host.h"
#include "training_loop.h"

namespace shoal {

enum class TrainRole : uint8_t { kLocal, kChief, kWorker };

struct TrainRequest {
  const Estimator& estimator;
  const InputFn& input_fn;
  TrainRole role = TrainRole::kLocal;
  std::optional<int64_t> max_steps;  ///< absolute
  std::optional<int64_t> steps;      ///< from the step at start
  std::vector<std::shared_ptr<Hook>> hooks;
  std::vector<std::shared_ptr<CheckpointListener>> listeners;
  /// Tells the types of an input that turns out to be empty; null: nothing is known then.
  const InputFn* types_from = nullptr;
  bool write_end_mark = false;
  /// Begin a new pass where the position of the checkpoint is the input's end: a program that calls train() pass by pass. A
  /// job that is merely restarted must not (it would repeat batches).
  bool new_pass_at_end = false;
};

struct TrainOutcome {
  bool nothing_to_do = false;  ///< the checkpoint was already at max_steps; input_fn was not called
  uint64_t global_step = 0;
  uint64_t iterations = 0;
  checkpoint::EndReason reason = checkpoint::EndReason::kMaxSteps;
  std::string last_checkpoint;  ///< name; empty: none written
  double seconds = 0;
  int64_t examples = 0;
};

/// `request` outlives the task.
Task<Result<TrainOutcome>> train_task(Environment& env, const TrainRequest& request);

/// FailedPrecondition for what RunConfig can say and this version does not do: several replicas in one process.
Result<void> check_supported(const RunConfig& config);

/// The same in a cluster: opens the task's own port first, and waits before it where workers start late. `request` outlives
/// the task.
Task<Result<TrainOutcome>> trainer_task(Environment& env, const TrainRequest& request);

/// Job identity, role, index, ... of the task that `config` describes.
cluster::TaskIdentity task_identity(Environment& env, const RunConfig& config);
/// With the credential that this task was given, if any. Errors: those of find_credential().
Result<transport::LinkOptions> link_options(const RunConfig& config);
/// Where this task listens: the address that the cluster names for it, or the one of --bind. InvalidArgument if that is no
/// host or host:port.
Result<transport::Endpoint> own_endpoint(const RunConfig& config);
/// Addresses of the parameter servers.
std::vector<transport::Endpoint> server_endpoints(const RunConfig& config);

}  // namespace shoal
