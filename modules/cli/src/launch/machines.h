// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The machines that the tasks of a job run on: this machine, or hosts behind ssh. A parameter `task` is the task's number
/// in the job.
#include <cstddef>
#include <string>
#include <vector>

#include "launch/guard.h"
#include "launch/inbox.h"
#include "launch/job_tasks.h"
#include "launch/task_process.h"

namespace shoal::cli::launch {

/// The parameters of a new process of a task.
struct TaskStart {
  const std::string& tf_config;
  const JobWide& job;
  /// A file of this machine for the task's results; unused if the results come by TaskProcess::report().
  const std::string& report_file;
};

class Machines {
 public:
  virtual ~Machines() = default;
  /// Returns where the job runs, in words: "on this machine", "on 3 hosts".
  virtual std::string where() const = 0;
  /// The host of a task; "" for this machine.
  virtual std::string host(size_t task) const = 0;
  /// Returns where a task runs, in words behind its name: " on board1", or "" for this machine.
  virtual std::string where(size_t task) const = 0;
  /// The commands that the guard, a helper process, runs if this process dies (guard.h).
  virtual std::vector<LastCommand> last_commands() const = 0;
  /// Prepares the machines; call it before choose_addresses(). If it fails, it removes what it has made. Cancelled: a
  /// signal came.
  virtual Result<void> prepare(SignalInbox& inbox) = 0;
  /// Chooses an address "host:port" for each task; "" for a task that needs none. Each call chooses new addresses.
  virtual Result<std::vector<std::string>> choose_addresses() = 0;
  virtual Result<TaskProcess> start(size_t task, const TaskStart& how, TaskStream output, TaskStream errors) = 0;
  /// Returns each task at whose address a process of this machine listens, be it the task itself or another process.
  virtual std::vector<size_t> listening() const = 0;
  /// Removes everything that prepare() has made. Call it when no task runs any more. Returns a sentence for each thing that
  /// could not be removed.
  virtual std::vector<std::string> clean_up(SignalInbox& inbox) = 0;
};

}  // namespace shoal::cli::launch
