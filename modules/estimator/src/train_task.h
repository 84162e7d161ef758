#pragma once
/// Training as one task does it: local process, chief, master or worker. They differ in the store and in who saves.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/checkpoint/end_mark.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/task_host.h"
#include "training_loop.h"

namespace shoal {

class LocalEvaluation;

enum class TrainRole : uint8_t { kLocal, kChief, kWorker };

struct TrainRequest {
  const Estimator& estimator;
  const InputFn& input_fn;
  TrainRole role = TrainRole::kLocal;
  std::optional<int64_t> max_steps;  ///< The global step at which training ends.
  std::optional<int64_t> steps;      ///< Steps from the step at start.
  std::vector<std::shared_ptr<Hook>> hooks;
  std::vector<std::shared_ptr<CheckpointListener>> listeners;
  /// One of the listeners, which makes its last evaluation when the job has ended; null: there is none such.
  LocalEvaluation* last_evaluation = nullptr;
  /// Tells the types of an input that turns out to be empty; null: nothing is known then.
  const InputFn* types_from = nullptr;
  bool write_end_mark = false;
  /// Begin a new pass where the position of the checkpoint is the input's end: a program that calls train() pass by pass. A
  /// job that is merely restarted must not (it would repeat batches).
  bool new_pass_at_end = false;
};

struct TrainOutcome {
  /// True if max_steps was reached, or the run interrupted, before this task came; no input_fn was called.
  bool nothing_to_do = false;
  uint64_t global_step = 0;
  double seconds = 0;
  int64_t examples = 0;
  std::optional<double> loss = {};  ///< Of the last step.
};

/// `request` outlives the task.
Task<Result<TrainOutcome>> train_task(Environment& env, const TrainRequest& request);

/// What train_and_evaluate() and Estimator::train() look at before anything is opened or written: a role that cannot run,
/// replicas in a task of a cluster (FailedPrecondition both), the task's own address, who may join (CONTRACT CL-18).
Result<void> check_task(const RunConfig& config);

/// The same in a cluster: opens the task's own port first, and waits before it where workers start late. `request` outlives
/// the task.
Task<Result<TrainOutcome>> trainer_task(Environment& env, const TrainRequest& request);

/// True for a task that was asked to end before it began.
bool is_interrupt(const Error& error);

/// What the process lends to this task; nothing special, where the config has no host.
const TaskHost& host_of(const RunConfig& config);
/// What the build has, and what `host` brings; of one scheme, the latter.
TransportTable transports_of(const TaskHost& host);

/// Job identity, role, index, ... of the task that `config` describes.
cluster::TaskIdentity task_identity(Environment& env, const RunConfig& config);
/// Options with the credential that this task was given, if any, and its heartbeats. Errors: those of
/// find_credential().
Result<transport::LinkOptions> link_options(const RunConfig& config);
/// Where this task listens: the address that the cluster names for it, or the one of --bind. InvalidArgument if that is no
/// host or host:port.
Result<transport::Endpoint> own_endpoint(const RunConfig& config);
/// Makes a folder for a run that was given no model_dir, and says in the log where it is.
Result<std::string> make_temporary_model_dir(Environment& env);
/// The same estimator whose calls (evaluate, export_model, ...) run in `env`: what the exporters of a task get.
Estimator inside(const Estimator& estimator, std::shared_ptr<Environment> env);
/// Addresses of the parameter servers.
std::vector<transport::Endpoint> server_endpoints(const RunConfig& config);

}  // namespace shoal
