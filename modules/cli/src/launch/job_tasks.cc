// SPDX-License-Identifier: Apache-2.0
#include "launch/job_tasks.h"

#include <algorithm>
#include <cctype>

#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {
namespace {

// Linux allows 128 KiB for one "NAME=value", including the zero at its end (MAX_ARG_STRLEN).
constexpr size_t kVariableBytesMax = 128 * 1024 - sizeof "TF_CONFIG=";

}  // namespace

std::vector<JobTask> tasks_of(const cluster::ClusterSize& size) {
  std::vector<JobTask> tasks;
  const auto add = [&tasks](std::string_view type, int32_t count, Role role) {
    for (int32_t i = 0; i < count; ++i) {
      JobTask task{
          .name = std::string(type), .file_name = std::string(type), .type = std::string(type), .index = i, .role = role};
      task.name.append(" ").append(std::to_string(i));
      task.file_name.append("-").append(std::to_string(i));
      tasks.push_back(std::move(task));
    }
  };
  add(size.chief_role(), 1, Role::kChief);
  add(cluster::kPsRole, size.ps, Role::kServer);
  add(cluster::kWorkerRole, size.workers, Role::kWorker);
  add(cluster::kEvaluatorRole, size.evaluator ? 1 : 0, Role::kEvaluator);
  return tasks;
}

Result<std::vector<std::string>> tf_configs(std::span<const JobTask> tasks, std::span<const std::string> addresses) {
  cluster::ClusterSpec cluster;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].has_address()) continue;
    SHOAL_TRY_VOID(cluster.add(tasks[i].type, tasks[i].index, addresses[i]));
  }
  std::vector<std::string> texts;
  for (const JobTask& task : tasks) {
    SHOAL_TRY(const cluster::TaskConfig config, cluster::resolve_task(cluster, task.type, task.index));
    SHOAL_TRY_VOID(check_runnable(config));
    texts.push_back(to_tf_config(config));
    if (texts.back().size() > kVariableBytesMax) {
      return invalid_argument(std::to_string(tasks.size()) + " tasks are too many: TF_CONFIG would have " +
                              std::to_string(texts.back().size()) +
                              " bytes, and a variable of the environment has at most " + std::to_string(kVariableBytesMax));
    }
  }
  return texts;
}

std::vector<Variable> variables_of(const std::string& tf_config, const JobWide& job, const std::string& report_file) {
  // SHOAL_SOURCE tells the task to read TF_CONFIG. Otherwise it could take other variables of the launcher's environment
  // (SHOAL_RANK, ...), which may describe another cluster.
  std::vector<Variable> variables{
      {"TF_CONFIG", tf_config}, {"SHOAL_SOURCE", "TF_CONFIG"}, {"SHOAL_RUN", job.run}, {"SHOAL_REPORT_FILE", report_file}};
  if (job.token) variables.emplace_back("SHOAL_TOKEN", *job.token);
  // Tasks on this machine inherit SHOAL_TRIAL, but ssh does not pass it on to other machines.
  if (job.trial) variables.emplace_back("SHOAL_TRIAL", *job.trial);
  if (job.gives_way) variables.emplace_back("SHOAL_ON_SIGTERM", "leave");
  if (job.shows_table) variables.emplace_back("SHOAL_PROGRESS_SECS", "1");
  return variables;
}

std::vector<std::string> JobCommand::words() const {
  std::vector<std::string> words = wrapper;
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./:=,+@%").find(char(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace shoal::cli::launch
