// SPDX-License-Identifier: Apache-2.0
// Implements `shoal config [--cluster SIZE] [--model-dir DIR]`.

#include "command.h"
#include "json_out.h"
#include "shoal/arguments/command.h"
#include "shoal/base/process_info.h"
#include "shoal/cluster/named_size.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli {
namespace {

using cluster::TaskConfig;

struct ConfigOptions {
  std::optional<std::string> cluster_size;
  std::optional<std::string> model_dir;
};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const TaskConfig& task, const std::optional<std::string>& model_dir) {
  Json warnings = task.warnings;
  // Parsing also accepts clusters that cannot be run; this command reports them before anything is started.
  if (const auto runnable = check_runnable(task); !runnable) {
    warnings.push_back("train_and_evaluate will refuse: " + runnable.error().message());
  }
  return Json{{"source", to_string(task.source)},
              {"mode", to_string(task.mode)},
              {"task_type", task.type},
              {"task_id", task.index},
              {"is_chief", task.is_chief},
              {"num_ps", task.num_ps},
              {"num_workers", task.num_workers},
              {"global_id", or_null(task.global_id)},
              {"rpc_address", task.rpc_address},
              {"rank", task.place ? Json(task.place->rank) : Json(nullptr)},
              {"size", task.place ? Json(task.place->size) : Json(nullptr)},
              {"rendezvous", task.place ? Json(task.place->rendezvous) : Json::array()},
              {"model_dir", or_null(model_dir ? model_dir : task.model_dir)},
              {"service", task.service ? json::parse_in_order(*task.service) : Json(nullptr)},
              {"trial", or_null(task.trial)},
              {"warnings", std::move(warnings)}};
}

/// Returns the task that the environment describes or, with --cluster, all tasks of a cluster of threads.
Result<std::vector<TaskConfig>> resolve(const ConfigOptions& options) {
  if (options.cluster_size) {
    const cluster::TrainerRoom room = cluster::room_on_cores(read_process_info().usable_cores);
    auto fitted = cluster::parse_cluster_size(*options.cluster_size, room);
    if (!fitted) return std::move(fitted).error().with_context("--cluster");
    SHOAL_TRY(const std::optional<std::string> trial, cluster::trial_from_environment(cluster::process_getenv));
    std::vector<TaskConfig> tasks = cluster::in_process_tasks(fitted->size, "config");
    for (TaskConfig& task : tasks) {
      task.trial = trial;
      if (fitted->warning) task.warnings.push_back(*fitted->warning);
    }
    return tasks;
  }
  SHOAL_TRY(TaskConfig task, cluster::task_from_environment(cluster::process_getenv, {.model_dir = options.model_dir}));
  return std::vector<TaskConfig>{std::move(task)};
}

Result<int> print_config(Context& context, const ConfigOptions& options) {
  SHOAL_TRY(const std::vector<TaskConfig> tasks, resolve(options));
  for (const TaskConfig& task : tasks) print_line(context.out, to_json(task, options.model_dir));
  return 0;
}

}  // namespace

void add_config_command(arguments::Command& app, Action& selected) {
  arguments::Command& config = app.add_command(
      "config", "This process's place in a cluster: from --cluster, SHOAL_RANK, TF_CONFIG, what started it, or local");
  const auto options = std::make_shared<ConfigOptions>();
  config.add("--cluster", options->cluster_size, "A size, as ps:1,worker:3,evaluator: prints one task per line");
  config.add("--model-dir", options->model_dir, "As the program would be given; must agree with TF_CONFIG").path("FOLDER");
  config.on_selected(
      [&selected, options] { selected = [options](Context& context) { return print_config(context, *options); }; });
}

}  // namespace shoal::cli
