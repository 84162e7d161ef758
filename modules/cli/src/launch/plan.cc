// SPDX-License-Identifier: Apache-2.0
// Implements print_plan(), the output of `shoal launch --dry-run`.

#include "json_out.h"
#include "launch/child_group.h"
#include "launch/credentials.h"
#include "launch/job_tasks.h"
#include "launch/launcher.h"
#include "launch/this_machine.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {
namespace {

std::string shell_line(const std::vector<Variable>& variables, const std::vector<std::string>& command) {
  std::string line;
  for (const auto& [name, value] : variables) line += name + "=" + shell_word(value) + " ";
  for (const std::string& word : command) line += (&word == &command.front() ? "" : " ") + shell_word(word);
  return line;
}

Json object(const JobTask& task, const std::vector<Variable>& variables, const std::vector<std::string>& command) {
  Json environment = Json::object();
  for (const auto& [name, value] : variables) environment[name] = value;
  return Json{{"task", task.name}, {"environment", std::move(environment)}, {"command", command}};
}

Result<JobWide> shown_job(const Context& context, const LaunchOptions& options) {
  JobWide job{.run = "(a name of this launch)", .shows_table = shows_table(context, options)};
  if (token_for_job(options.command.program, cluster::process_getenv)) job.token = "(a secret of this launch)";
  SHOAL_TRY(job.trial, cluster::trial_from_environment(cluster::process_getenv));
  return job;
}

Result<int> print_plan_here(Context& context, const LaunchOptions& options) {
  const std::vector<std::string> command = options.command.words();
  SHOAL_TRY(const std::string file, find_program(command.front()));
  static_cast<void>(file);
  const std::vector<JobTask> tasks = tasks_of(options.size);
  static_cast<void>(allow_open_files(files_for(tasks.size())));
  ThisMachine machine(tasks, options.command);
  SHOAL_TRY(const std::vector<std::string> addresses, machine.choose_addresses());
  SHOAL_TRY(const std::vector<std::string> configs, tf_configs(tasks, addresses));
  SHOAL_TRY(const JobWide job, shown_job(context, options));
  for (size_t i = 0; i < tasks.size(); ++i) {
    const std::vector<Variable> variables = variables_of(configs[i], job, "(a file for the results)");
    if (options.json) {
      print_line(context.out, object(tasks[i], variables, command));
    } else {
      context.out << "# " << tasks[i].name << "\n" << shell_line(variables, command) << "\n";
    }
  }
  return 0;
}

/// Prints the ssh commands and, as comments, the commands on the hosts, which ssh gets by its standard input.
Result<int> print_plan_on_hosts(Context& context, const LaunchOptions& options) {
  const std::vector<JobTask> tasks = tasks_of(options.size);
  SHOAL_TRY(const std::unique_ptr<RemoteHosts> hosts,
            RemoteHosts::create(context.storage, *options.hosts, tasks, options.command));
  SHOAL_TRY(const std::vector<std::string> addresses, hosts->choose_addresses());
  SHOAL_TRY(const std::vector<std::string> configs, tf_configs(tasks, addresses));
  SHOAL_TRY(const JobWide job, shown_job(context, options));
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskStart how{.tf_config = configs[i], .job = job, .report_file = ""};
    const std::vector<std::string> ssh = hosts->ssh_for(i, how), command = hosts->command_of(i);
    const std::vector<Variable> variables = variables_of(configs[i], job, "(a file for the results)");
    if (options.json) {
      Json shown = object(tasks[i], variables, command);
      shown["ssh"] = ssh;
      print_line(context.out, shown);
    } else {
      context.out << "# " << tasks[i].name << hosts->where(i) << "; there, in " << shell_word(options.hosts->work_folder)
                  << ", it runs\n#   " << shell_line(variables, command) << "\n"
                  << shell_line({}, ssh) << "\n";
    }
  }
  return 0;
}

}  // namespace

Result<int> print_plan(Context& context, const LaunchOptions& options) {
  return options.hosts ? print_plan_on_hosts(context, options) : print_plan_here(context, options);
}

}  // namespace shoal::cli::launch
