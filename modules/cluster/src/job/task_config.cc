// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "job/quote.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cluster {
namespace {

/// Counts the tasks whose addresses have this task's host. An evaluator has no address: it counts as one of this host
/// only if all addresses are loopback addresses.
int32_t count_tasks_on_host(const TaskConfig& task) {
  const std::string* own = task.job.address(task.type, task.index);
  if (!own) return task.job.is_loopback() ? task.job.node_count() + 1 : 1;
  const auto host_of = [](const std::string& address) { return std::string_view(address).substr(0, address.rfind(':')); };
  int32_t count = 0;
  for (const auto& [role, nodes] : task.job.roles()) {
    count += int32_t(std::count_if(nodes.begin(), nodes.end(),
                                   [&](const ClusterSpec::Node& node) { return host_of(node.address) == host_of(*own); }));
  }
  return count;
}

/// Completes the configuration of an evaluator, which is no member of the training cluster: the numbers of trainers and
/// servers are 0, and it has neither a global id nor an address.
Result<TaskConfig> resolve_evaluator(TaskConfig task) {
  if (task.job.has_role(kMasterRole)) {
    return invalid_argument("task.type: there is no evaluator in a cluster with a master, which evaluates itself");
  }
  task.mode = TaskMode::kEvaluator;
  task.is_chief = false;
  task.num_ps = 0;
  task.num_workers = 0;
  task.global_id = std::nullopt;
  return task;
}

/// Checks that the cluster lists the task's role, and that the role lists the task's index.
Result<void> check_listed(const TaskConfig& task) {
  const std::string& type = task.type;
  if (!task.job.has_role(type)) {
    if (type == "local") {
      return invalid_argument("task.type: to run locally leave `cluster` and `task` out; there is no type \"local\"");
    }
    return invalid_argument("task.type: " + in_quotes(type) +
                            " is no role of the cluster, which has: " + listed(task.job.role_names()));
  }
  if (task.job.address(type, task.index)) return {};
  const int32_t count = task.job.count(type);
  return invalid_argument("task.index: " + std::to_string(task.index) + " is not listed: role " + in_quotes(type) +
                          " has " + std::to_string(count) + (count == 1 ? " address" : " addresses") + ", indices " +
                          (task.job.nodes(type).back().index + 1 == count ? "0 to " + std::to_string(count - 1)
                                                                          : "are those of the sparse form"));
}

std::vector<std::string> warnings_of(const TaskConfig& task) {
  std::vector<std::string> warnings;
  if (task.job.node_count() == 1 && task.type == kChiefRole) {
    warnings.push_back(
        "a cluster of one chief is not local mode: it performs no evaluation, for which an evaluator task is needed; to "
        "train and evaluate in this process leave `cluster` and `task` out");
  }
  return warnings;
}

/// Resolves one task of a cluster that has passed its check(). Leaves out tasks_on_host: to count those tasks takes a look at
/// each node, and a cluster of threads has as many results of this function as nodes.
Result<TaskConfig> resolve_without_host(ClusterSpec cluster, std::string_view type, std::optional<int32_t> index) {
  if (type.empty()) return invalid_argument("task.type: must be set when there is a cluster");
  if (!index) return invalid_argument("task.index: must be set when there is a cluster");
  if (*index < 0) return invalid_argument("task.index: is negative; indices count from 0");
  TaskConfig task;
  task.source = ConfigSource::kOption;
  task.type = std::string(type);
  task.index = *index;
  task.job = std::move(cluster);
  if (task.type == kEvaluatorRole) return resolve_evaluator(std::move(task));
  SHOAL_TRY_VOID(check_listed(task));
  task.mode = TaskMode::kDistributed;
  task.cluster = task.job;
  task.is_chief = task.type == task.job.chief_role();
  task.num_ps = task.job.count(kPsRole);
  task.num_workers = task.job.count(kWorkerRole) + 1;
  task.global_id = task.job.global_id(task.type, task.index);
  if (task.job.node_count() > 1) task.rpc_address = *task.job.address(task.type, task.index);
  task.warnings = warnings_of(task);
  return task;
}

}  // namespace

std::string_view to_string(TaskMode mode) {
  switch (mode) {
    case TaskMode::kLocal: return "local";
    case TaskMode::kDistributed: return "distributed";
    case TaskMode::kEvaluator: return "evaluator";
  }
  return "unknown";
}

int32_t TaskConfig::trainer_index() const {
  if (mode != TaskMode::kDistributed || type != kWorkerRole) return 0;
  return cluster.position(type, index).value_or(index) + 1;
}

std::string TaskConfig::name() const { return mode == TaskMode::kLocal ? "" : type + " " + std::to_string(index); }

Result<TaskConfig> resolve_task(ClusterSpec cluster, std::string_view type, std::optional<int32_t> index) {
  SHOAL_TRY_VOID(cluster.check());
  cluster.share();
  SHOAL_TRY(TaskConfig task, resolve_without_host(std::move(cluster), type, index));
  task.tasks_on_host = count_tasks_on_host(task);
  return task;
}

std::optional<std::string> process_getenv(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<TaskConfig> in_process_tasks(const ClusterSize& size, std::string_view cluster_name) {
  ClusterSpec cluster;
  std::vector<std::pair<std::string_view, int32_t>> places;
  const auto add = [&](std::string_view role, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      const std::string host = std::string(role) + "-" + std::to_string(i) + "." + std::string(cluster_name);
      SHOAL_CHECK(cluster.add(role, i, host + ":1").has_value());
      places.emplace_back(role, i);
    }
  };
  add(size.chief_role(), 1);
  add(kPsRole, size.ps);
  add(kWorkerRole, size.workers);
  if (size.evaluator) places.emplace_back(kEvaluatorRole, 0);
  SHOAL_CHECK(cluster.check().has_value());
  cluster.share();

  std::vector<TaskConfig> tasks;
  tasks.reserve(places.size());
  for (const auto& [role, index] : places) {
    Result<TaskConfig> task = resolve_without_host(cluster, role, index);
    SHOAL_CHECK(task.has_value());
    task->in_process = true;
    task->tasks_on_host = size.tasks();
    if (size.evaluator) task->warnings.clear();  // Drops the warning that no task evaluates: one does.
    tasks.push_back(std::move(*task));
  }
  return tasks;
}

Result<void> check_runnable(const TaskConfig& task) {
  if (task.mode == TaskMode::kLocal) return {};
  if (task.place) SHOAL_TRY_VOID(check_rendezvous(*task.place));
  if (task.mode == TaskMode::kEvaluator) {
    if (task.index == 0) return {};
    return invalid_argument("evaluator " + std::to_string(task.index) + ": there is only one evaluator, index 0");
  }
  const bool trains = task.is_chief || task.type == kWorkerRole;
  if (!trains && task.type != kPsRole) {
    if (task.type == "local") {
      return invalid_argument("a task of type \"local\" cannot be run: to run locally leave `cluster` and `task` out");
    }
    return invalid_argument("a task of type " + in_quotes(task.type) +
                            " cannot be run; the types that can are chief, worker, ps, evaluator, master");
  }
  if (trains && task.num_workers > 1 && task.num_ps == 0) {
    return invalid_argument(
        "the cluster has workers but no ps: there would be no one to hold the shared parameters; add at "
        "least one ps");
  }
  return {};
}

}  // namespace shoal::cluster
