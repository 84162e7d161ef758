// SPDX-License-Identifier: Apache-2.0
// Finds out from environment variables which task of which cluster this process is. If they lack the addresses of the
// other tasks, a rendezvous finds these later.
#include <algorithm>

#include "job/resolvers/variables.h"
#include "shoal/cluster/launched.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cluster {
namespace {

/// Makes the description of a cluster of size `plan`, in which the task with rank i has the address addresses[i].
Result<ClusterSpec> cluster_of(const ClusterSize& plan, const std::vector<std::string>& addresses) {
  ClusterSpec cluster;
  for (int32_t rank = 0; rank < plan.tasks(); ++rank) {
    const Seat seat = seat_of(plan, rank);
    if (seat.role != kEvaluatorRole) SHOAL_TRY_VOID(cluster.add(seat.role, seat.index, addresses[size_t(rank)]));
  }
  return cluster;
}

Result<TaskConfig> resolve_place(const Place& place, const std::vector<std::string>& addresses) {
  SHOAL_TRY(ClusterSpec cluster, cluster_of(place.plan, addresses));
  const Seat seat = seat_of(place.plan, place.rank);
  SHOAL_TRY(TaskConfig task, resolve_task(std::move(cluster), seat.role, seat.index));
  task.source = place.source;
  task.place = place;
  if (place.plan.evaluator) task.warnings.clear();  // Drops the warning that no task evaluates: one does.
  return task;
}

Result<std::optional<ConfigSource>> wanted_source(const GetEnv& getenv) {
  const std::optional<std::string> name = variable(getenv, "SHOAL_SOURCE");
  if (!name) return std::optional<ConfigSource>();
  Result<ConfigSource> source = parse_config_source(*name);
  if (!source) return std::move(source).error().with_context("SHOAL_SOURCE");
  return std::optional<ConfigSource>(*source);
}

TaskConfig task_of(FoundPlace found) {
  TaskConfig task = found.place ? task_of_place(*std::move(found.place)) : TaskConfig{};
  task.warnings.insert(task.warnings.end(), found.warnings.begin(), found.warnings.end());
  return task;
}

/// Reads TF_CONFIG. Warns if it has no cluster, although the variables of a launcher (Slurm, MPI, ...) say that this task
/// is one of several.
Result<TaskConfig> task_of_tf_config(const GetEnv& getenv, const std::string& text, const TfConfigOptions& options) {
  SHOAL_TRY(TaskConfig task, parse_tf_config(text, options));
  const Result<FoundPlace> found = engine_place(getenv);
  if (task.mode == TaskMode::kLocal && found && found->place && found->place->size > 1) {
    const Place& place = *found->place;
    task.warnings.push_back("TF_CONFIG has no cluster, so this task trains alone; " + std::string(to_string(place.source)) +
                            " says it is rank " + std::to_string(place.rank) + " of " + std::to_string(place.size) +
                            ": leave TF_CONFIG out to train with the others");
  }
  return task;
}

Result<TaskConfig> task_of_source(const GetEnv& getenv, ConfigSource source, const TfConfigOptions& options) {
  switch (source) {
    case ConfigSource::kLocal: return TaskConfig{};
    case ConfigSource::kTfConfig: {
      SHOAL_TRY_VOID(needed_variable(getenv, "TF_CONFIG", "SHOAL_SOURCE"));
      return parse_tf_config(*raw_variable(getenv, "TF_CONFIG"), options);
    }
    case ConfigSource::kOption: {
      SHOAL_TRY_VOID(needed_variable(getenv, "SHOAL_RANK", "SHOAL_SOURCE"));
      SHOAL_TRY(FoundPlace found, explicit_place(getenv));
      return task_of(std::move(found));
    }
    default: {
      SHOAL_TRY(FoundPlace found, engine_place(getenv, source));
      return task_of(std::move(found));
    }
  }
}

Result<TaskConfig> found_task(const GetEnv& getenv, const TfConfigOptions& options) {
  SHOAL_TRY(const std::optional<ConfigSource> wanted, wanted_source(getenv));
  if (wanted) return task_of_source(getenv, *wanted, options);
  SHOAL_TRY(FoundPlace chosen, explicit_place(getenv));
  if (chosen.place) return task_of(std::move(chosen));
  // The text is not trimmed, since errors of the parser name byte positions.
  if (is_set(getenv, "TF_CONFIG")) return task_of_tf_config(getenv, *raw_variable(getenv, "TF_CONFIG"), options);
  SHOAL_TRY(FoundPlace found, engine_place(getenv));
  return task_of(std::move(found));
}

}  // namespace

TaskConfig task_of_place(Place place) {
  if (place.size == 1) {
    TaskConfig alone;
    alone.source = place.source;
    alone.place = std::move(place);
    return alone;
  }
  std::vector<std::string> names;  // Placeholders for the addresses, which are not known yet.
  for (int32_t rank = 0; rank < place.size; ++rank) names.push_back("rank-" + std::to_string(rank) + ":1");
  Result<TaskConfig> task = resolve_place(place, names);
  SHOAL_CHECK(task.has_value());
  task->cluster = task->job = ClusterSpec();
  task->rpc_address.clear();
  task->tasks_on_host = place.local_size.value_or(1);
  return *std::move(task);
}

Result<TaskConfig> with_addresses(const TaskConfig& task, const std::vector<std::string>& addresses,
                                  const std::vector<std::string>& host_names) {
  const Place& place = *task.place;
  SHOAL_CHECK(addresses.size() == size_t(place.size) && host_names.size() == addresses.size());
  SHOAL_TRY(TaskConfig met, resolve_place(place, addresses));
  met.trial = task.trial;
  met.tasks_on_host = int32_t(std::ranges::count(host_names, host_names[size_t(place.rank)]));
  return met;
}

Result<TaskConfig> task_from_environment(const GetEnv& getenv, const TfConfigOptions& options) {
  SHOAL_TRY(TaskConfig task, found_task(getenv, options));
  task.launched = was_launched(getenv);
  return with_trial(std::move(task), getenv);
}

}  // namespace shoal::cluster
