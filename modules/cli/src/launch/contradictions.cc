// SPDX-License-Identifier: Apache-2.0
#include "launch/contradictions.h"

#include <algorithm>
#include <array>
#include <string>

#include "shoal/base/number_text.h"

namespace shoal::cli::launch {
namespace {

/// The part of a job that a flag or variable describes. kOwnPlace: which task of the job this process is.
enum class Topic : uint8_t { kOwnPlace, kCluster, kTasks, kServers, kEvaluator };

struct Said {
  std::string_view name;
  Topic topic = Topic::kOwnPlace;
};
constexpr std::array kFlags{Said{"--cluster", Topic::kCluster},    Said{"--rank", Topic::kOwnPlace},
                            Said{"--source", Topic::kOwnPlace},    Said{"--rendezvous", Topic::kOwnPlace},
                            Said{"--world-size", Topic::kTasks},   Said{"--ps", Topic::kServers},
                            Said{"--evaluator", Topic::kEvaluator}};
constexpr std::array kVariables{Said{"SHOAL_WORLD_SIZE", Topic::kTasks}, Said{"SHOAL_PS", Topic::kServers},
                                Said{"SHOAL_EVALUATOR", Topic::kEvaluator}};
/// Variables that say which task of a cluster a process is: those of Shoal, and those of Slurm, MPI and others that Shoal
/// reads. A command for all tasks must not set them, since every process would then be the same task.
constexpr std::array<std::string_view, 25> kPlaceVariables{
    "TF_CONFIG",         "SHOAL_RANK",   "SHOAL_SOURCE",      "SHOAL_RENDEZVOUS",     "SHOAL_HOST",
    "SHOAL_SERVICE",     "SHOAL_RUN",    "SHOAL_REPORT_FILE", "JOB_COMPLETION_INDEX", "RANK",
    "WORLD_SIZE",        "MASTER_ADDR",  "MASTER_PORT",       "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",          "PMI_SIZE",     "PET_NODE_RANK",     "PET_NNODES",           "JAX_PROCESS_ID",
    "JAX_NUM_PROCESSES", "DMLC_TASK_ID", "DMLC_NUM_WORKER",   "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS"};

bool is_number(const std::string& text, int64_t number) { return number_from<int64_t>(text) == number; }

/// The sentence that refuses a flag or variable whose value contradicts the job; nothing if the value fits. The sentence
/// begins with `what`, such as "the program's --rank".
std::optional<std::string> contradiction(const std::string& what, Topic topic, const std::optional<std::string>& value,
                                         const JobFacts& job) {
  const std::string given = what + (value ? " " + *value : "");
  switch (topic) {
    case Topic::kCluster:
      return given +
             " would make a cluster of threads in each task; the job's size stands before --, as in shoal launch "
             "--ps 1 --workers 2";
    case Topic::kOwnPlace:
      return given + " would be the same for all tasks, and " + std::string(job.by) +
             " tells each its own place; leave it out";
    case Topic::kTasks:
      if (value && is_number(*value, job.size.tasks())) return std::nullopt;
      return given + " contradicts the job, which has " + std::to_string(job.size.tasks()) + " tasks; leave it out";
    case Topic::kServers:
      if (value && is_number(*value, job.size.ps)) return std::nullopt;
      return given + " contradicts the job, which has --ps " + std::to_string(job.size.ps) +
             "; leave it out, and say it before --";
    case Topic::kEvaluator:
      if ((value && says_no(*value)) == !job.size.evaluator) return std::nullopt;
      return given + " contradicts the job, which has " + (job.size.evaluator ? "an" : "no") +
             " evaluator; leave it out, and say it before --";
  }
  return std::nullopt;
}

/// Refuses a flag with a value that is given twice, as the program would, too. If a command had both --ps 1 and --ps 2, the
/// launcher could not know which of them to compare with the job.
Result<void> check_given_once(const ProgramCommand& command) {
  const auto with_values = flags_with_values();
  for (auto given = command.flags.begin(); given != command.flags.end(); ++given) {
    if (std::ranges::find(with_values, given->name) == with_values.end()) continue;
    const auto again = std::find_if(std::next(given), command.flags.end(),
                                    [&](const GivenFlag& other) { return other.name == given->name; });
    if (again == command.flags.end()) continue;
    return invalid_argument("the program's " + given->name + " is given twice, as " + given->value.value_or("\"\"") +
                            " and " + again->value.value_or("\"\"") + " (--param " + given->name.substr(2) +
                            "=VALUE is the same flag); leave one out");
  }
  return {};
}

Result<void> check_trainers_and_transport(const ProgramCommand& command, const JobFacts& job) {
  const std::string replicas = command.value("--replicas").value_or("1");
  if (job.size.tasks() > 1 && !is_number(replicas, 1)) {
    return invalid_argument("the program's --replicas " + replicas +
                            ": replicas are the trainers of one process without a cluster; this job has --workers instead");
  }
  const std::string transport = command.value("--transport").value_or("");
  if (job.size.tasks() > 1 && transport == "inproc") {
    return invalid_argument("the program's --transport inproc connects threads of one process, and " + std::string(job.by) +
                            " starts a process for each task; leave it out, or say auto, which shares memory where it can");
  }
  if (!job.one_machine && transport == "shm") {
    return invalid_argument("the program's --transport shm connects processes that see each other's memory, and with " +
                            std::string(job.by) + " not all tasks do; say auto, which shares memory where it can");
  }
  return {};
}

bool is_launcher(const ProgramCommand& command, std::span<const std::string> words) {
  if (command.program + 1 >= words.size()) return false;
  const std::string& program = words[command.program];
  return program.substr(program.rfind('/') + 1) == "shoal" && words[command.program + 1] == "launch";
}

}  // namespace

Result<void> check_contradictions(const ProgramCommand& command, std::span<const std::string> words, const JobFacts& job) {
  const std::string option = command.env_option.value_or("");
  for (const char* hides : {"-i", "--ignore-environment", "-S", "--split-string"}) {
    if (option != "-" && !option.starts_with(hides)) continue;
    return invalid_argument("env " + option +
                            ": takes away, or hides, the variables by which a task finds its place; write " +
                            "NAME=VALUE for each variable that the program needs");
  }
  if (is_launcher(command, words)) {
    return invalid_argument(
        "the program is shoal launch itself: each task would launch a job of its own; write the program " +
        std::string("behind the first --"));
  }
  SHOAL_TRY_VOID(check_given_once(command));
  for (const Said& said : kFlags) {
    const GivenFlag* const given = command.flag(said.name);
    if (!given) continue;
    const auto sentence = contradiction("the program's " + std::string(said.name), said.topic, given->value, job);
    if (sentence) return invalid_argument(*sentence);
  }
  for (const auto& [name, value] : command.variables) {
    const auto found = std::ranges::find(kVariables, name, &Said::name);
    const bool of_place = std::ranges::find(kPlaceVariables, name) != kPlaceVariables.end();
    if (value.empty() || (!of_place && found == kVariables.end())) continue;
    const auto sentence = contradiction("env " + name, of_place ? Topic::kOwnPlace : found->topic, value, job);
    if (sentence) return invalid_argument(*sentence);
  }
  return check_trainers_and_transport(command, job);
}

}  // namespace shoal::cli::launch
