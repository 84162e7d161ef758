// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the tasks of one job must have alike, as text: peers compare it byte for byte when they connect (CONTRACT DI-4),
/// and where it differs they can say in words what does.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/run_identity.h"
#include "shoal/cluster/sparse_roles.h"

namespace shoal::cluster {

/// The longest text; of anything longer the first lines and a hash of all of it are kept.
inline constexpr size_t kIdentityBytesMax = 4096;

/// One line per task: "ps 1: host:2222".
std::string job_text(const ClusterSpec& cluster);

/// The first thing that two job texts disagree on, in words: "ps 1 is host4:2222 for worker 0 and host5:2222 for ps 0".
/// Where a text was cut short, no task is said to be missing from it.
std::string job_difference(std::string_view text, const std::string& owner, std::string_view other_text,
                           const std::string& other_owner);

/// What tasks of one job are to each other, and compare when they connect (CONTRACT DI-4).
struct TaskIdentity {
  std::string job;  ///< What job_text() says of the cluster.
  std::string role;
  int index = 0;
  int trainer_index = -1;  ///< The number of the trainer; -1 for a task that is none.
  SparseRoles sparse = {};
  uint64_t incarnation = 0;
  std::string strategy = "async";
  uint64_t fingerprint = 0;
  std::string numerics;
  std::string variables;     ///< What variables_text() says of the model: a refusal compares it.
  std::string meaning = {};  ///< What meaning_text() says of the model, likewise.
  RunIdentity run = {};  ///< The run of its model: the chief's from model_dir, a worker's as its folder or the servers say.
  /// What a launcher (SHOAL_RUN) or an engine (the number of a Slurm job) calls the start that this task is part of; empty:
  /// nothing does. Peers compare it where both have one (CONTRACT RU-6).
  std::string start = {};
  std::string origin = {};  ///< "mnist, model_dir m": what refusals say of it.
};

}  // namespace shoal::cluster
