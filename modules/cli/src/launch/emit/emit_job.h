// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The complete and checked description of a job, from which --emit writes files for Kubernetes, Slurm, ... (emit.h).
#include <cstdint>
#include <string>
#include <vector>

#include "launch/policy.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

/// The job that the files of --emit describe.
struct EmitJob {
  cluster::ClusterSize size;
  std::vector<std::string> command;  ///< The program and its arguments.
  std::string name{};        ///< The job's name: lower-case letters, digits and '-'. Empty: made from the program's name.
  std::string image{};       ///< The image that containers run. If empty, emit() sets it to `name`.
  std::string rendezvous{};  ///< For systemd: the host:port at which rank 0 answers.
  std::string model_dir{};   ///< The model's folder, which emit() reads from `command`.
  PolicyOptions policy{};    ///< How often tasks are restarted, and how long they may take to end.
  /// The given options that cannot be expressed in every kind of emitted file ("--max-restarts", "--image", ...). emit()
  /// refuses those that the chosen kind cannot express.
  std::vector<std::string> options{};
};

struct EmittedFile {
  std::string name;
  std::string text;
};

/// How long tasks may take to end after they were asked to, in whole seconds.
int64_t stop_secs(const EmitJob& job);

// Each of these functions writes the files of one kind of --emit; `job` must be complete.
std::vector<EmittedFile> emit_kubernetes(const EmitJob& job);
std::vector<EmittedFile> emit_slurm(const EmitJob& job);
std::vector<EmittedFile> emit_systemd(const EmitJob& job);
std::vector<EmittedFile> emit_compose(const EmitJob& job);

}  // namespace shoal::cli::launch
