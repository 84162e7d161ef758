// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds contradictions in the command of a job: flags of its program, and variables set in front of the program (as in
/// `env NAME=VALUE PROGRAM`), that say something else about the job than its launcher does.
#include <optional>
#include <string_view>

#include "launch/program_command.h"
#include "shoal/base/result.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

/// Facts about the job in which the program is to run as a task.
struct JobFacts {
  cluster::ClusterSize size;
  std::string_view by;  ///< The command or option that gives tasks their roles and ranks, for messages: "shoal launch".
  /// True: all tasks are on one machine and can share memory. False: some are not, so --transport shm is impossible.
  bool one_machine = true;
};

/// Checks the `words` that each task of a job runs (`command`: the same words, split by read_command()). InvalidArgument,
/// in one sentence, if a flag or variable says which task the process is, or sets another size, cluster or transport than
/// the job has; if a flag is given twice; or if the program is itself a launcher.
Result<void> check_contradictions(const ProgramCommand& command, std::span<const std::string> words, const JobFacts& job);

}  // namespace shoal::cli::launch
