// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a process lends to the tasks that run in it: where lines go, who carries messages, when to stop. shoal::run sets
/// it up; a RunConfig without one gets that of its process (process_host()).
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
  bool done = false;        ///< Set when all are written.
};

/// A request to train_and_evaluate(): read what would be trained on, and say how fast that goes, instead of training.
struct MeasureInput {
  double seconds = 10;  ///< How long batches are read, behind the first one.
  bool json = false;    ///< One JSON object instead of text.
  std::ostream& out;    ///< Where the result goes.
  bool done = false;    ///< Set when it is written.
};

struct TaskHost {
  /// Where the task runs, and all that it does inside (evaluations, exports, predictions). Null: a production environment
  /// is made of what follows.
  std::shared_ptr<Environment> environment = {};
  LogSink sink = {};               ///< The default is stderr_sink().
  TransportTable transports = {};  ///< The default is the transports of this build.
  StopToken stop = {};             ///< A request on it also interrupts the task.
  StopToken leave = {};            ///< A request on it interrupts the task, which then gives way (OnSigterm::kLeave).
  bool handle_signals = false;     ///< True for at most one task of a process.
  std::shared_ptr<BufferPool> buffers = {};
  std::shared_ptr<cluster::UpdateObserver> observer = {};  ///< Observes the updates of the job; for simulations and tests.
  std::optional<uint64_t> bytes_on_strand = {};    ///< A parameter server's (ParameterServerOptions), for simulations.
  /// From how many bytes on shards travel in parts (ShardSpec::own_part_bytes). Simulations have small models.
  uint64_t own_part_bytes = cluster::kOwnPartBytes;
  /// From how many bytes on checkpoints share tables that change little (checkpoint::Sharing).
  uint64_t table_bytes_min = uint64_t(1) << 20;
  /// What monitoring systems ask (RunConfigOptions::metrics). Null: the first task that runs opens it, where the config asks for one.
  std::shared_ptr<monitor::MetricsEndpoint> metrics_endpoint = {};
  std::shared_ptr<monitor::TaskMeters> meters = {};         ///< What it tells of this task. Null: nobody asks.
  std::shared_ptr<monitor::ProgressDisplay> progress = {};  ///< Shown by the local process or the chief.
  bool workers_show_progress = false;                       ///< By each worker, too, whose process is its own.
  std::function<void(const TaskReport&)> report = {};       ///< Called once per task, on its thread.
  /// Called by the task that leads, on its compute thread, when it has the folder for itself and before it trains there.
  std::function<void(const LedFolder&)> leads = {};
  /// Null: the task trains. Else train_and_evaluate() predicts, and ends with Cancelled, since what follows that call in a
  /// program is meant for what was trained.
  std::shared_ptr<PredictFile> predict = {};
  /// Null: the task trains. Else train_and_evaluate() and Estimator::train() measure their input, and end with Cancelled, too.
  std::shared_ptr<MeasureInput> measure_input = {};
  std::optional<int64_t> profile_steps = {};                ///< The trainer that leads measures this many (profiler.h).
  /// What profiles compare with, by threads: the machine's own limits, on real threads and by a real clock.
  std::function<backends::MachineLimits(int threads)> measure_limits = backends::measure_machine_limits;
  /// The job's token or certificate: with it tcp is encrypted.
  std::shared_ptr<const transport::Credential> credential = {};
  bool insecure = false;  ///< True to allow plain tcp beyond loopback where there is no credential.
  /// The host or host:port to listen on, instead of the cluster's address for this task.
  std::optional<std::string> bind = {};
  /// The program's flags, for those who compare runs (event files have them as hyper-parameters): its own, and `steps` and
  /// `batch`. Null: the program has none. shoal::run sets them where the program's body heeds flags.
  std::shared_ptr<const Params> flags = {};
  /// The launcher's name for the start that this process is part of (SHOAL_RUN); empty: none. End marks carry the name, so a task
  /// that is started after the end knows that the mark belongs to its own start.
  std::string shoal_run = {};
};

/// The host of a process that says nothing of one: it reads SHOAL_TOKEN, SHOAL_TOKEN_FILE, SHOAL_TLS_DIR, SHOAL_INSECURE
/// and SHOAL_RUN. Errors: those of find_credential() and process_shoal_run().
Result<std::shared_ptr<const TaskHost>> process_host();
/// SHOAL_RUN of this process; empty if it is not set. InvalidArgument unless it is at most 200 printable characters of
/// ASCII.
Result<std::string> process_shoal_run();

/// The environment of the task that `config` describes: its host's, or a production environment on it.
std::shared_ptr<Environment> make_task_environment(const RunConfig& config);
/// The same for a call that is no task by itself (an evaluation, an export, predictions): a production environment that is
/// made for it leaves signals alone.
std::shared_ptr<Environment> make_call_environment(const RunConfig& config);

}  // namespace shoal
