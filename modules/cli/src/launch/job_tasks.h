// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The tasks of a job, with their names, their addresses and the environment variables of their processes.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "launch/policy.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

struct JobTask {
  std::string name;       ///< The task as people name it: "worker 1".
  std::string file_name;  ///< The name of the task in file names: "worker-1".
  std::string type;       ///< The type of the task in TF_CONFIG.
  int32_t index = 0;
  Role role = Role::kWorker;
  bool has_address() const { return role != Role::kEvaluator; }
};

/// Returns the tasks: the chief (or master) first, then ps, workers, evaluator.
std::vector<JobTask> tasks_of(const cluster::ClusterSize& size);

/// Returns the TF_CONFIG of each of `tasks`. Task i listens at addresses[i], a "host:port" ("" for a task without an
/// address). InvalidArgument for a cluster that cannot be run.
Result<std::vector<std::string>> tf_configs(std::span<const JobTask> tasks, std::span<const std::string> addresses);

/// One variable of a task's environment, and its value.
using Variable = std::pair<std::string, std::string>;

/// Values of environment variables that all tasks of one launch have in common.
struct JobWide {
  std::string run;                     ///< SHOAL_RUN.
  std::optional<std::string> token{};  ///< SHOAL_TOKEN; nothing if the user has given one, or if none is needed.
  std::optional<std::string> trial{};  ///< SHOAL_TRIAL, if this launch is a trial of a search.
  bool gives_way = false;              ///< Sets SHOAL_ON_SIGTERM=leave: tasks save their state and end on a SIGTERM.
  bool shows_table = false;            ///< Sets SHOAL_PROGRESS_SECS=1: tasks log progress each second, for a table.
};
/// Returns the variables that a launch adds to a task's environment.
std::vector<Variable> variables_of(const std::string& tf_config, const JobWide& job, const std::string& report_file);

/// The command that the process of each task runs.
struct JobCommand {
  std::vector<std::string> program;    ///< The program, and its arguments. Not empty.
  std::vector<std::string> wrapper{};  ///< Words to put in front of the program: an emulator, a debugger, taskset.

  std::vector<std::string> words() const;
};

/// Returns `text`, quoted if necessary, as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace shoal::cli::launch
