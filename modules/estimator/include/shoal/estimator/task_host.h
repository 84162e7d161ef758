// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The facilities that a process lends to its tasks: log, transports, stop tokens and others. shoal::run() fills a host;
/// for a RunConfig without one, process_host() makes it.
#include <functional>
#include <iosfwd>
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
}
class Params;
class RunConfig;

/// A request to train_and_evaluate(): predict for a file by the newest checkpoint, instead of training.
struct PredictFile {
  std::string path;
  bool json_lines = false;  ///< One JSON object per row instead of CSV.
  std::ostream& out;        ///< Where predictions go.
  bool done = false;        ///< Set when all predictions are written.
};

/// A request to train_and_evaluate(): read the training input and report how fast it comes, instead of training.
struct MeasureInput {
  double seconds = 10;  ///< How long batches are read, counted from the first one.
  bool json = false;    ///< One JSON object instead of text.
  std::ostream& out;    ///< Where the result goes.
  bool done = false;    ///< Set when the result is written.
};

struct TaskHost {
  /// The environment of the task and of its evaluations, exports and predictions. Null: a production environment is made of
  /// the members that follow.
  std::shared_ptr<Environment> environment = {};
  LogSink sink = {};               ///< The default is stderr_sink().
  TransportTable transports = {};  ///< The default is the transports of this build.
  StopToken stop = {};             ///< A stop request on this token interrupts the task, too.
  StopToken leave = {};            ///< A stop request on this token makes the task give way (OnSigterm::kLeave).
  bool handle_signals = false;     ///< True for at most one task of a process.
  std::shared_ptr<BufferPool> buffers = {};
  std::shared_ptr<cluster::UpdateObserver> observer = {};  ///< Observes the updates of the job; for simulations and tests.
  std::optional<uint64_t> bytes_on_strand = {};    ///< ParameterServerOptions::bytes_on_strand, for simulations.
  /// The size in bytes from which shards travel in parts (ShardSpec::own_part_bytes). Simulations have small models.
  uint64_t own_part_bytes = cluster::kOwnPartBytes;
  /// The size in bytes from which checkpoints share tables that change little (checkpoint::Sharing).
  uint64_t table_bytes_min = uint64_t(1) << 20;
  /// The endpoint for monitoring (RunConfigOptions::metrics). Null: the first task opens one if the config asks for it.
  std::shared_ptr<monitor::MetricsEndpoint> metrics_endpoint = {};
  std::shared_ptr<monitor::TaskMeters> meters = {};         ///< This task's numbers for the endpoint. Null: no endpoint.
  std::shared_ptr<monitor::ProgressDisplay> progress = {};  ///< The local process or the chief shows it.
  bool workers_show_progress = false;                       ///< True: each worker in a process of its own shows it, too.
  std::function<void(const TaskReport&)> report = {};       ///< Called once per task, on its thread.
  /// The leading task calls this function on its compute thread, after it has locked the folder and before it trains there.
  std::function<void(const LedFolder&)> leads = {};
  /// Null: the task trains. Else train_and_evaluate() predicts, and ends with Cancelled, since the program's code behind
  /// that call expects a trained model.
  std::shared_ptr<PredictFile> predict = {};
  /// Null: the task trains. Else train_and_evaluate() and Estimator::train() measure their input, and end with Cancelled, too.
  std::shared_ptr<MeasureInput> measure_input = {};
  std::optional<int64_t> profile_steps = {};                ///< The leading trainer measures this many steps (profiler.h).
  /// Measures the limits that profiles compare with, for this many threads: by default those of the real machine.
  std::function<backends::MachineLimits(int threads)> measure_limits = backends::measure_machine_limits;
  /// The job's token or certificate: with it tcp is encrypted.
  std::shared_ptr<const transport::Credential> credential = {};
  bool insecure = false;  ///< True to allow plain tcp beyond loopback where there is no credential.
  /// The host or host:port to listen on, instead of the cluster's address for this task.
  std::optional<std::string> bind = {};
  /// The values of the program's own flags, and `steps` and `batch`, which event files record as hyper-parameters for
  /// comparing runs. Null: the program has none. shoal::run() sets them if the program's body takes flags.
  std::shared_ptr<const Params> flags = {};
  /// The launcher's name for the start that this process is part of (SHOAL_RUN); empty: none. End marks carry the name, so a task
  /// that is started after the end knows that the mark belongs to its own start.
  std::string shoal_run = {};
};

/// The host of a process that did not set one: it reads SHOAL_TOKEN, SHOAL_TOKEN_FILE, SHOAL_TLS_DIR, SHOAL_INSECURE
/// and SHOAL_RUN. Errors: those of find_credential() and process_shoal_run().
Result<std::shared_ptr<const TaskHost>> process_host();
/// SHOAL_RUN of this process; empty if it is not set. InvalidArgument unless it is at most 200 printable characters of
/// ASCII.
Result<std::string> process_shoal_run();

/// The environment of the task that `config` describes: its host's own, or a production environment made from the host.
std::shared_ptr<Environment> make_task_environment(const RunConfig& config);
/// As make_task_environment(), for a call that is no task itself (an evaluation, an export, predictions): a production
/// environment that is made for the call does not handle signals.
std::shared_ptr<Environment> make_call_environment(const RunConfig& config);

}  // namespace shoal
