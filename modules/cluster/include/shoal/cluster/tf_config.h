// SPDX-License-Identifier: Apache-2.0
#pragma once
/// This process's task in a cluster: from the environment variable TF_CONFIG, from a cluster size, from the variables
/// of the engine (Slurm, MPI, ...; place.h) that started the process, or from nothing at all. The result and its checks
/// are the same for every source.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/place.h"

namespace shoal::cluster {

enum class TaskMode : uint8_t { kLocal, kDistributed, kEvaluator };
/// Returns "local", "distributed" or "evaluator".
std::string_view to_string(TaskMode mode);

/// One task, resolved and checked. The defaults are those of local mode. A RunConfig never changes its TaskConfig.
struct TaskConfig {
  ConfigSource source = ConfigSource::kLocal;
  TaskMode mode = TaskMode::kLocal;
  std::string type = "worker";  ///< The role as given; `worker` in local mode.
  int32_t index = 0;
  bool is_chief = true;
  int32_t num_ps = 0;
  int32_t num_workers = 1;  ///< The number of trainers: workers plus the chief; 0 for the evaluator.
  std::optional<int64_t> global_id = 0;
  std::string rpc_address;               ///< This task's own host:port; empty if nobody connects to it.
  ClusterSpec cluster;                   ///< The cluster, empty in local mode and for the evaluator, which is not a member.
  ClusterSpec job;                       ///< The training cluster, set for the evaluator, too.
  std::optional<std::string> model_dir;  ///< The model_dir in TF_CONFIG, not the program's own option.
  std::optional<std::string> service;    ///< `service` of TF_CONFIG: a JSON object as text, without blanks.
  std::optional<std::string> trial;      ///< The trial of a search: task.trial of TF_CONFIG, or SHOAL_TRIAL.
  /// True if the task is a thread of a process that runs the whole cluster. Addresses are then names, not hosts.
  bool in_process = false;
  int32_t tasks_on_host = 1;  ///< The number of the job's tasks on this host (or in this process), this one included.
  /// The task's rank and the job's size, if SHOAL_RANK or an engine (Slurm, MPI, ...) gives them; else nothing.
  std::optional<Place> place;
  /// True if the job was over before this task started: the other tasks are gone, so that this one has none to connect to.
  bool has_ended = false;
  /// True if `shoal launch` has started this task, as one of the job's tasks (was_launched()).
  bool launched = false;
  std::vector<std::string> warnings;

  /// False while only the task's rank and the job's size are known. They tell its role and index, but no addresses: a later
  /// rendezvous with the other tasks gives these.
  bool has_met() const { return mode == TaskMode::kLocal || !job.empty() || has_ended; }
  /// This trainer's number, for splitting data and on the servers: 0 for the chief, i + 1 for worker i; where workers
  /// are listed sparsely, k for the k-th listed worker. 0 for all other tasks. In [0, num_trainers()).
  int32_t trainer_index() const;
  /// num_workers, but at least 1, so that dataset.shard(num_trainers, trainer_index) also works in the evaluator.
  int32_t num_trainers() const { return num_workers > 0 ? num_workers : 1; }
  /// The name of the task for log lines and errors, such as "worker 1"; "" in local mode.
  std::string name() const;
};

struct TfConfigOptions {
  /// The model_dir that the caller has given: a different one in TF_CONFIG is an error.
  std::optional<std::string> model_dir;
};

/// Limits of parse_tf_config(); beyond them there is an error.
inline constexpr size_t kTfConfigBytesMax = size_t(64) << 20;
inline constexpr int kTfConfigDepthMax = 1000;
/// The limit on addresses, roles and other entries; entries within `service` do not count.
inline constexpr int kTfConfigEntriesMax = 1'000'000;

/// Parses TF_CONFIG. The order of the checks is fixed, so that the first thing wrong is the one reported: JSON,
/// model_dir, service, cluster, chief or master, addresses, task.type, task.index. Empty or blank text is local mode.
/// InvalidArgument or TypeMismatch; every sentence begins with "TF_CONFIG".
Result<TaskConfig> parse_tf_config(std::string_view text, const TfConfigOptions& options = {});

/// Resolves one task of `cluster`: checks the cluster, type and index, then derives the other fields of TaskConfig.
/// InvalidArgument, also if `index` is missing (nullopt).
Result<TaskConfig> resolve_task(ClusterSpec cluster, std::string_view type, std::optional<int32_t> index);

/// Writes a TF_CONFIG from which parse_tf_config() makes the same task: for the environment of a child process, and for
/// logs. For an evaluator, which is not in TaskConfig::cluster, the text has the training cluster (TaskConfig::job).
std::string to_tf_config(const TaskConfig& task);

/// Reads the process's own environment.
std::optional<std::string> process_getenv(std::string_view name);

/// Finds this process's task in the environment: in SHOAL_RANK, else TF_CONFIG, else the variables of a launcher (Slurm,
/// MPI, ...), else local mode. SHOAL_SOURCE restricts the search to one source. Contacts no other task, so addresses may be
/// missing (has_met()). with_trial() adds the trial. InvalidArgument or TypeMismatch, naming the variable.
Result<TaskConfig> task_from_environment(const GetEnv& getenv, const TfConfigOptions& options = {});

/// The variable SHOAL_TRIAL without blanks around it: the trial of a search that this process is part of, such as "7". None
/// if it is not set, or blank. InvalidArgument if it is no UTF-8.
Result<std::optional<std::string>> trial_from_environment(const GetEnv& getenv);
/// Returns `task` with the trial that SHOAL_TRIAL names. InvalidArgument if TF_CONFIG's task.trial names another trial.
/// Also returns the errors of trial_from_environment().
Result<TaskConfig> with_trial(TaskConfig task, const GetEnv& getenv);

/// Makes a task from its place (rank and job size); the addresses are not known yet.
TaskConfig task_of_place(Place place);
/// Completes the task with the results of its rendezvous: each rank's address (empty for the evaluator) and the name of
/// each rank's host. InvalidArgument if an address is not host:port, or is given twice.
Result<TaskConfig> with_addresses(const TaskConfig& task, const std::vector<std::string>& addresses,
                                  const std::vector<std::string>& host_names);

/// The tasks of a cluster of threads in one process, in the order chief (or master), ps, workers, evaluator. `size`
/// passes its own check(). Addresses read "chief-0.<cluster_name>:1", which passes the checks of any host:port;
/// `cluster_name`, made of letters, digits and '-', tells several such clusters in one process apart.
std::vector<TaskConfig> in_process_tasks(const ClusterSize& size, std::string_view cluster_name);

/// InvalidArgument if `train_and_evaluate` cannot run this task: an extra role (the error lists the roles that can
/// run), an evaluator whose index is not 0, or a trainer of a cluster that has workers but no ps.
Result<void> check_runnable(const TaskConfig& task);

}  // namespace shoal::cluster
