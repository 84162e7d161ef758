// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The tasks of a job: what each is called, where it listens, and what its process is told.
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
  std::string file_name;  ///< The same for files: "worker-1".
  std::string type;       ///< Of TF_CONFIG.
  int32_t index = 0;
  Role role = Role::kWorker;
  bool has_address() const { return role != Role::kEvaluator; }
};

/// The chief (or master) first, then ps, workers, evaluator.
std::vector<JobTask> tasks_of(const cluster::ClusterSize& size);

/// TF_CONFIG of each of `tasks`, where task i listens at addresses[i], a "host:port" ("" for one without an address).
/// InvalidArgument for a cluster that cannot be run.
Result<std::vector<std::string>> tf_configs(std::span<const JobTask> tasks, std::span<const std::string> addresses);

/// One variable of a task's environment, and its value.
using Variable = std::pair<std::string, std::string>;

/// What all tasks of one launch have in common.
struct JobWide {
  std::string run;                     ///< SHOAL_RUN.
  std::optional<std::string> token{};  ///< SHOAL_TOKEN; nothing where the user has given one, or there is no need.
  std::optional<std::string> trial{};  ///< SHOAL_TRIAL, where this launch is a trial of a search.
  bool gives_way = false;              ///< SHOAL_ON_SIGTERM: a SIGTERM that is passed on means what it means here.
  bool shows_table = false;            ///< Tasks tell often how far they are: SHOAL_PROGRESS_SECS.
};
/// What a launch puts into a task's environment, beside what its own has.
std::vector<Variable> variables_of(const std::string& tf_config, const JobWide& job, const std::string& report_file);

/// What the process of each task runs.
struct JobCommand {
  std::vector<std::string> program;    ///< The program, and its arguments. Not empty.
  std::vector<std::string> wrapper{};  ///< A command that runs the command behind it: an emulator, a debugger, taskset.

  std::vector<std::string> words() const;
};

/// `text` as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace shoal::cli::launch
