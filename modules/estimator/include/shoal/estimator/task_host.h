#pragma once
/// What a process lends to the tasks that run in it: where lines go, who carries messages, when to stop. shoal::run sets
/// it up; a RunConfig without one gets a plain host of its own, which reads SHOAL_TOKEN, SHOAL_TOKEN_FILE,
/// SHOAL_TLS_DIR and SHOAL_INSECURE.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/production.h"
#include "shoal/transport/credential.h"

namespace shoal {

namespace monitor {
class ProgressDisplay;
}
class RunConfig;

/// What a task knows at its end, for programs that print results.
struct TaskReport {
  std::string task;  ///< "chief 0"; "" for a local run
  std::map<std::string, double> metrics;  ///< of the last evaluation, where this task evaluates
  std::optional<uint64_t> global_step;
  std::optional<double> examples_per_second;  ///< of this trainer
  std::optional<double> seconds;              ///< of training
};

struct TaskHost {
  LogSink sink;                     ///< default: stderr_sink()
  TransportTable transports;        ///< default: those of this build
  StopToken stop;                   ///< also interrupts the task
  bool handle_signals = false;      ///< at most one task of a process
  std::shared_ptr<BufferPool> buffers;
  std::shared_ptr<monitor::ProgressDisplay> progress;  ///< shown by the local process or the chief
  std::function<void(const TaskReport&)> report;       ///< called once per task, on its thread
  std::optional<int64_t> profile_steps;                ///< the trainer that leads measures this many (profiler.h)
  std::shared_ptr<const transport::Credential> credential;  ///< with it tcp is encrypted (CONTRACT CL-18)
  bool insecure = false;                               ///< without it: plain tcp beyond loopback
  std::optional<std::string> bind;  ///< host or host:port to listen on, instead of the cluster's address for this task
};

/// The production environment of the task that `config` describes, on its host.
std::unique_ptr<Environment> make_task_environment(const RunConfig& config);
/// The same for work that may happen inside a task (an evaluation, an export, predictions): it leaves signals to the task,
/// since only one environment of a process can watch them.
std::unique_ptr<Environment> make_inner_environment(const RunConfig& config);

}  // namespace shoal
