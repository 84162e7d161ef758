// SPDX-License-Identifier: Apache-2.0
#pragma once
/// This process's place in a cluster, from the environment variable TF_CONFIG (CONTRACT section 2), from a cluster size,
/// from the variables of what started it (place.h), or from nothing at all. Whatever the source, the result and its checks
/// are the same.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/place.h"

namespace shoal::cluster {

enum class TaskMode : uint8_t { kLocal, kDistributed, kEvaluator };
/// "local", "distributed", "evaluator".
std::string_view to_string(TaskMode mode);

/// One task, resolved and checked. The defaults are those of local mode. A value: immutable once handed to a RunConfig.
struct TaskConfig {
  ConfigSource source = ConfigSource::kLocal;
  TaskMode mode = TaskMode::kLocal;
  std::string type = "worker";  ///< The role as given; `worker` in local mode.
  int32_t index = 0;
  bool is_chief = true;
  int32_t num_ps = 0;
  int32_t num_workers = 1;  ///< The number of trainers: workers plus the chief; 0 for the evaluator.
  std::optional<int64_t> global_id = 0;
  std::string rpc_address;  ///< This task's own host:port; empty if there is nobody to listen for.
  ClusterSpec cluster;      ///< The cluster, empty in local mode and for the evaluator, which is no member.
  ClusterSpec job;          ///< The training cluster, also where this task is no member: the evaluator's view of it.
  std::optional<std::string> model_dir;  ///< What the description says, not the option.
  std::optional<std::string> service;    ///< The JSON text of an object, in its order, without blanks.
  std::optional<std::string> trial;
  /// True for a thread of a process that runs the whole cluster: addresses are names, not hosts.
  bool in_process = false;
  int32_t tasks_on_host = 1;  ///< How many tasks of the job share this host (or process), this one included.
  /// What the variables of an engine, or SHOAL_RANK, say; nothing for other sources.
  std::optional<Place> place;
  /// The start that this task is part of ended before the task came, so that there is nobody to meet.
  bool has_ended = false;
  std::vector<std::string> warnings;

  /// False while only the place is known: role and numbers follow from it, addresses come from a rendezvous.
  bool has_met() const { return mode == TaskMode::kLocal || !job.empty() || has_ended; }
  /// The number of this trainer, for splitting of data and on the servers: chief 0, worker i is i + 1, and where
  /// workers are listed sparsely the k-th of those listed is k; 0 for all others. In [0, num_trainers()).
  int32_t trainer_index() const;
  /// num_workers, but at least 1: shard(num_trainers, trainer_index) is meant to work in the evaluator too.
  int32_t num_trainers() const { return num_workers > 0 ? num_workers : 1; }
  /// "worker 1", for log lines and errors; "" in local mode.
  std::string name() const;
};

struct TfConfigOptions {
  /// model_dir as given by the caller: TF_CONFIG must not say another (CONTRACT RC-4).
  std::optional<std::string> model_dir;
};

/// Limits of parse_tf_config(); beyond them there is an error.
inline constexpr size_t kTfConfigBytesMax = size_t(64) << 20;
inline constexpr int kTfConfigDepthMax = 1000;
/// Counts addresses, roles and the like, not what `service` holds.
inline constexpr int kTfConfigEntriesMax = 1'000'000;

/// Reads TF_CONFIG's text with the checks of CONTRACT CL-3 in their order, so that the first thing wrong is the one
/// reported. Empty or blank text is local mode. InvalidArgument or TypeMismatch; every sentence begins with "TF_CONFIG".
Result<TaskConfig> parse_tf_config(std::string_view text, const TfConfigOptions& options = {});

/// The task's place in `cluster`, by CL-3's numbers 8 to 15 and the table CL-4. `index` missing (nullopt): an error.
Result<TaskConfig> resolve_task(ClusterSpec cluster, std::string_view type, std::optional<int32_t> index);

/// The text that parse_tf_config() reads back to the same task: what a launcher puts into a child's environment, and what
/// is logged. For an evaluator the cluster is the job's.
std::string to_tf_config(const TaskConfig& task);

/// The process's own environment.
std::optional<std::string> process_getenv(std::string_view name);

/// The place that the environment gives this process: SHOAL_RANK, TF_CONFIG, the variables of an engine, else local mode;
/// SHOAL_SOURCE names the only one to look at. A look at variables, nothing else: a task with a place among others
/// has_met() nobody yet. InvalidArgument or TypeMismatch, naming the variable.
Result<TaskConfig> task_from_environment(const GetEnv& getenv, const TfConfigOptions& options = {});

/// A task that has a place among others, without addresses.
TaskConfig task_of_place(Place place);
/// The same once its rendezvous has given every rank an address (the evaluator's is empty, for it is no member) and the
/// name of its host. InvalidArgument: one is no host:port, or given twice.
Result<TaskConfig> with_addresses(const TaskConfig& task, const std::vector<std::string>& addresses,
                                  const std::vector<std::string>& host_names);

/// One TaskConfig per task of a cluster of threads in one process, chief (or master) first, then ps, workers, evaluator.
/// `size` passes its own check(). Addresses read "chief-0.<cluster_name>:1" (they pass the same checks as any host:port);
/// `cluster_name`, made of letters, digits and '-', keeps several such clusters in one process apart.
std::vector<TaskConfig> in_process_tasks(const ClusterSize& size, std::string_view cluster_name);

/// Whether `train_and_evaluate` can run this task at all: it refuses extra roles (listing the ones it runs), an evaluator
/// whose index is not 0, and trainers of a cluster that has workers but no ps (CONTRACT CL-7, CL-11, CL-14).
Result<void> check_runnable(const TaskConfig& task);

}  // namespace shoal::cluster
