// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The TaskHost: facilities that a process lends to its tasks, such as log, transports and stop tokens. shoal::run()
/// makes one; for a RunConfig without one, process_host() makes it.
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shoal/backends/machine_limits.h"
#include "shoal/base/production.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/cluster/update_observer.h"
#include "shoal/estimator/task_report.h"
#include "shoal/transport/credential.h"

namespace shoal {

namespace monitor {
class MetricsEndpoint;
class ProgressDisplay;
class TaskMeters;
}  // namespace monitor
class Params;
class RunConfig;

/// Asks train_and_evaluate() to predict for the rows of a file with the newest checkpoint, instead of training.
struct PredictFile {
  std::string path;
  bool json_lines = false;   ///< True: one JSON object per row. False: CSV.
  std::FILE* out = nullptr;  ///< Receives the predictions. Required.
  bool done = false;         ///< Becomes true when all predictions are written.
};

/// Asks train_and_evaluate() not to train, but to read the training input and report the rate of its batches.
struct MeasureInput {
  double seconds = 10;       ///< How long to read batches, counted from the first one.
  bool json = false;         ///< True: the result is one JSON object. False: text.
  std::FILE* out = nullptr;  ///< Receives the result. Required.
  bool done = false;         ///< Becomes true when the result is written.
};

struct TaskHost {
  /// The environment of the task and of its evaluations, exports and predictions. Null: the members below are used to make
  /// a production environment.
  std::shared_ptr<Environment> environment = {};
  LogSink sink = {};               ///< Receives log lines. Default: stderr_sink().
  TransportTable transports = {};  ///< The transports that a task may use. Default: those of this build.
  StopToken stop = {};             ///< A stop request on this token ends the task as an interrupt signal does.
  StopToken leave = {};            ///< A stop request acts as SIGTERM does with OnSigterm::kLeave.
  bool handle_signals = false;     ///< True: this task handles signals; at most one in a process may.
  std::shared_ptr<BufferPool> buffers = {};
  std::shared_ptr<cluster::UpdateObserver> observer = {};  ///< Observes the updates of the job; for simulations and tests.
  /// A parameter server computes updates of more bytes than this on other threads. Only simulations set this limit
  /// (ParameterServerOptions::bytes_on_strand).
  std::optional<uint64_t> bytes_on_strand = {};
  /// Between servers and trainers, a variable of at least this many bytes is sent as a message of its own. Smaller
  /// variables share a message, which ends once it has this many bytes (ShardSpec::own_part_bytes). Simulations use fewer
  /// bytes, so that their small models need several messages, too.
  uint64_t own_part_bytes = cluster::kOwnPartBytes;
  /// Each checkpoint contains all bytes of tensors smaller than this. Larger tensors may share unchanged bytes with earlier
  /// checkpoints (checkpoint::Sharing::bytes_min).
  uint64_t table_bytes_min = uint64_t(1) << 20;
  /// The endpoint for monitoring (RunConfigOptions::metrics). Null: the first task opens one if the config asks for it.
  std::shared_ptr<monitor::MetricsEndpoint> metrics_endpoint = {};
  std::shared_ptr<monitor::TaskMeters> meters = {};         ///< Collects the task's numbers for /metrics. Null: none.
  std::shared_ptr<monitor::ProgressDisplay> progress = {};  ///< Shows the progress of the local process or the chief.
  bool workers_show_progress = false;                       ///< True: each worker process shows its own progress, too.
  std::function<void(const TaskReport&)> report = {};       ///< Receives the report, once, on the task's thread.
  /// The task that leads the training (local process, chief or master) calls this function on its compute thread, after it
  /// has locked model_dir and before it trains.
  std::function<void(const LedFolder&)> leads = {};
  /// Null: the task trains. Else train_and_evaluate() only predicts, then ends with Cancelled: the program's code
  /// behind that call must not run, since it expects a trained model.
  std::shared_ptr<PredictFile> predict = {};
  /// Null: the task trains. Else train_and_evaluate() and Estimator::train() measure the input, then end with Cancelled.
  std::shared_ptr<MeasureInput> measure_input = {};
  std::optional<int64_t> profile_steps = {};  ///< The leading trainer profiles this many steps (profiler.h).
  /// Measures how fast the machine computes and reads memory with this many threads. Profiles compare the speed of kernels
  /// with these limits. Default: measures the real machine. Simulations return fixed limits.
  std::function<backends::MachineLimits(int threads)> measure_limits = backends::measure_machine_limits;
  /// The job's token or certificate, with which tcp connections are encrypted.
  std::shared_ptr<const transport::Credential> credential = {};
  bool insecure = false;  ///< True: without a credential, unencrypted tcp to other machines is allowed.
  /// The address (host or host:port) at which the task listens, if it is not the task's address in the cluster.
  std::optional<std::string> bind = {};
  /// The values of the program's own flags, and `steps` and `batch`, which event files record as hyper-parameters for
  /// comparing runs. Null: the program has none. shoal::run() sets them if the program's body takes flags.
  std::shared_ptr<const Params> flags = {};
  /// The name (SHOAL_RUN) that a launcher gives to all processes of one start of a job; empty: none. The file that marks a
  /// job's end contains the name, so that a task which starts after the end knows that its own job has ended.
  std::string shoal_run = {};
};

/// Makes the TaskHost of a process that did not set one, from SHOAL_TOKEN, SHOAL_TOKEN_FILE, SHOAL_TLS_DIR,
/// SHOAL_INSECURE and SHOAL_RUN. Errors: those of find_credential() and process_shoal_run().
Result<std::shared_ptr<const TaskHost>> process_host();
/// The environment variable SHOAL_RUN of this process; empty if it is not set. InvalidArgument unless it is at most 200
/// printable characters of ASCII.
Result<std::string> process_shoal_run();

/// The environment of the task that `config` describes: TaskHost::environment, or if that is null, a new production
/// environment made from the other members of the TaskHost.
std::shared_ptr<Environment> make_task_environment(const RunConfig& config);
/// Like make_task_environment(), for a call outside of a task (evaluate(), export_model(), predict()). If it makes a
/// production environment, that does not handle signals.
std::shared_ptr<Environment> make_call_environment(const RunConfig& config);

}  // namespace shoal
