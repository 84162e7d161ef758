// SPDX-License-Identifier: Apache-2.0
// Slurm. Only tasks that srun starts have a rank; a batch script, the shell of salloc and srun --pty train locally.
#include <numeric>

#include "job/quote.h"
#include "job/resolvers/node_list.h"
#include "job/resolvers/resolvers.h"
#include "job/resolvers/variables.h"

namespace shoal::cluster {
namespace {

constexpr std::string_view kStepTasks = "SLURM_STEP_NUM_TASKS";
constexpr std::string_view kStepNodes = "SLURM_STEP_NODELIST";
constexpr std::string_view kStepCounts = "SLURM_STEP_TASKS_PER_NODE";

/// The number of tasks on this task's node.
Result<std::optional<int32_t>> local_size(const GetEnv& getenv, int32_t size) {
  const std::optional<std::string> text = variable(getenv, kStepCounts);
  if (!text) return std::optional<int32_t>();
  Result<std::vector<int32_t>> counts = parse_task_counts(*text);
  if (!counts) return std::move(counts).error().with_context(kStepCounts);
  const int64_t sum = std::accumulate(counts->begin(), counts->end(), int64_t(0));
  if (sum != size) {
    return invalid_argument(std::string(kStepCounts) + ": " + in_quotes(*text) + " makes " + std::to_string(sum) +
                            " tasks, and " + std::string(kStepTasks) + " is " + std::to_string(size));
  }
  if (counts->size() == 1) return std::optional<int32_t>(size);
  SHOAL_TRY(const std::optional<int32_t> node, optional_number(getenv, "SLURM_NODEID", 0, int32_t(counts->size()) - 1));
  if (!node) return std::optional<int32_t>();
  return std::optional<int32_t>((*counts)[size_t(*node)]);
}

}  // namespace

Result<std::optional<Place>> place_of_slurm(const GetEnv& getenv) {
  if (!is_set(getenv, kStepTasks) || is_set(getenv, "SLURM_PTY_PORT")) return std::optional<Place>();
  SHOAL_TRY(Place place, ranks_of(getenv, ConfigSource::kSlurm,
                                  {.rank = "SLURM_PROCID", .size = kStepTasks, .local_rank = "SLURM_LOCALID"}));
  if (place.size == 1) return std::optional<Place>(std::move(place));
  SHOAL_TRY(place.local_size, local_size(getenv, place.size));
  SHOAL_TRY(const std::string nodes, needed_variable(getenv, kStepNodes, kStepTasks));
  Result<std::vector<std::string>> hosts = parse_node_list(nodes);
  if (!hosts) return std::move(hosts).error().with_context(kStepNodes);
  place.hosts = std::move(*hosts);
  SHOAL_TRY(const std::string job, needed_variable(getenv, "SLURM_JOB_ID", kStepTasks));
  std::optional<std::string> step = variable(getenv, "SLURM_STEP_ID");
  if (!step) step = variable(getenv, "SLURM_STEPID");
  place.run = "slurm " + job + (step ? "." + *step : "");
  return std::optional<Place>(std::move(place));
}

}  // namespace shoal::cluster
