// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the tasks of a job run: this machine, or hosts behind ssh. Tasks are named by their numbers in the job.
#include <cstddef>
#include <string>
#include <vector>

#include "launch/guard.h"
#include "launch/inbox.h"
#include "launch/job_tasks.h"
#include "launch/task_process.h"

namespace shoal::cli::launch {

/// What a new process of a task is told.
struct TaskStart {
  const std::string& tf_config;
  const JobWide& job;
  const std::string& report_file;  ///< On this machine: its results come there, or by TaskProcess::report().
};

class Machines {
 public:
  virtual ~Machines() = default;
  /// "on this machine", "on 3 hosts".
  virtual std::string where() const = 0;
  /// The host of a task; "" for this machine.
  virtual std::string host(size_t task) const = 0;
  /// Behind the name of a task: "", " on board1".
  virtual std::string where(size_t task) const = 0;
  /// What the guard runs if this process dies.
  virtual std::vector<LastCommand> last_commands() const = 0;
  /// Makes ready what tasks need. Before choose_addresses(). Errors leave nothing behind. Cancelled: a signal came.
  virtual Result<void> prepare(SignalInbox& inbox) = 0;
  /// "host:port" of each task, "" where it has none; others each time.
  virtual Result<std::vector<std::string>> choose_addresses() = 0;
  virtual Result<TaskProcess> start(size_t task, const TaskStart& how, TaskStream output, TaskStream errors) = 0;
  /// Tasks at whose address somebody of this machine listens.
  virtual std::vector<size_t> listening() const = 0;
  /// Removes what prepare() has made; no task runs. What cannot be, in sentences.
  virtual std::vector<std::string> clean_up(SignalInbox& inbox) = 0;
};

}  // namespace shoal::cli::launch
