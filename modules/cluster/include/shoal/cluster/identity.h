// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts that all tasks of one job must agree on. Peers compare them byte for byte when they connect, and a refusal can
/// say in words what differs.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/run_identity.h"
#include "shoal/cluster/sparse_roles.h"

namespace shoal::cluster {

/// The longest identity text. A longer text is replaced by its first lines and a hash of the whole.
inline constexpr size_t kIdentityBytesMax = 4096;

/// One line per task: "ps 1: host:2222".
std::string job_text(const ClusterSpec& cluster);

/// The first difference between two job texts, in words: "ps 1 is host4:2222 for worker 0 and host5:2222 for ps 0". If
/// a text was cut short, a task that is missing in it does not count as a difference.
std::string job_difference(std::string_view text, const std::string& owner, std::string_view other_text,
                           const std::string& other_owner);

/// The identity of a task, and all that the tasks of a job have in common. Peers compare it when they connect, and refuse
/// a peer of another job, model, strategy or run.
struct TaskIdentity {
  std::string job;  ///< All tasks of the job with their addresses, as job_text() writes them.
  std::string role;
  int index = 0;
  int trainer_index = -1;  ///< The trainer's number; -1 for a task that does not train.
  SparseRoles sparse = {};
  uint64_t incarnation = 0;
  std::string strategy = "async";
  uint64_t fingerprint = 0;
  std::string numerics;
  std::string variables;     ///< variables_text() of the model. A refused peer learns which variables differ.
  std::string meaning = {};  ///< meaning_text() of the model. A refused peer learns what differs.
  /// The training run that the task's model belongs to. A chief learns it from model_dir, a worker from its own folder or
  /// from the servers.
  RunIdentity run = {};
  /// The name of the start (of all tasks together) that this task belongs to: SHOAL_RUN from a launcher, or an id
  /// such as the number of a Slurm job. Empty: not known. Two peers compare it if both know it.
  std::string start = {};
  std::string origin = {};  ///< "mnist, model_dir m": how refusals describe the task.
};

}  // namespace shoal::cluster
