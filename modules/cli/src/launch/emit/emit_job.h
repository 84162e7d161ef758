// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A job that is written down for another engine, complete and checked (emit.h).
#include <cstdint>
#include <string>
#include <vector>

#include "launch/policy.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

/// The job that a manifest describes.
struct EmitJob {
  cluster::ClusterSize size;
  std::vector<std::string> command;  ///< The program and its arguments.
  std::string name{};                ///< Of the job: lower-case letters, digits and '-'. Empty: from the program's name.
  std::string image{};               ///< Of containers. Empty: `name`.
  std::string rendezvous{};          ///< systemd: where rank 0 answers, as host:port.
  std::string model_dir{};           ///< emit() takes it from the command.
  PolicyOptions policy{};            ///< Restarts, and how long tasks may take to leave.
  /// The options for manifests that were given ("--max-restarts", "--image", ...): an engine refuses those it cannot heed.
  std::vector<std::string> options{};
};

struct EmittedFile {
  std::string name;
  std::string text;
};

/// Whole seconds that tasks have to leave.
int64_t stop_secs(const EmitJob& job);

// One per kind, of a job that is complete.
std::vector<EmittedFile> emit_kubernetes(const EmitJob& job);
std::vector<EmittedFile> emit_slurm(const EmitJob& job);
std::vector<EmittedFile> emit_systemd(const EmitJob& job);
std::vector<EmittedFile> emit_compose(const EmitJob& job);

}  // namespace shoal::cli::launch
