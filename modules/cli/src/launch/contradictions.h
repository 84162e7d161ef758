// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds in a program's flags, and in the variables that `env` sets before it, what contradicts its job.
#include <optional>
#include <string_view>

#include "launch/program_command.h"
#include "shoal/base/result.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

/// The job that the program is to be a task of.
struct JobFacts {
  cluster::ClusterSize size;
  std::string_view by;  ///< Who tells tasks their places, for sentences: "shoal launch", "--emit slurm".
  /// True: all tasks are on one machine, and see each other's sockets. False: some do not, so that --transport shm cannot be.
  bool one_machine = true;
};

/// InvalidArgument, one sentence: a flag or variable says another place, size, cluster or transport than the job has, is
/// given twice, or the program is itself a launcher.
Result<void> check_contradictions(const ProgramCommand& command, std::span<const std::string> words, const JobFacts& job);

}  // namespace shoal::cli::launch
