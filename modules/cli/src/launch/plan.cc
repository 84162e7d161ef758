// print_plan(): what `shoal launch --dry-run` shows.
#include <ostream>

#include "json_out.h"
#include "launch/child_group.h"
#include "launch/credentials.h"
#include "launch/job_tasks.h"
#include "launch/launcher.h"
#include "launch/ports.h"

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

}  // namespace

Result<int> print_plan(Context& context, const LaunchOptions& options) {
  SHOAL_TRY(const std::string file, find_program(options.command.front()));
  static_cast<void>(file);
  const std::vector<JobTask> tasks = tasks_of(options.size);
  static_cast<void>(allow_open_files(files_for(tasks.size())));
  std::vector<ReservedPort> reserved;
  std::vector<uint16_t> ports(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].has_address()) continue;
    SHOAL_TRY(ReservedPort port, ReservedPort::on_loopback());
    ports[i] = port.number();
    reserved.push_back(std::move(port));
  }
  SHOAL_TRY(const std::vector<std::string> configs, tf_configs(tasks, ports));
  JobSecrets secrets{.run = "(a name of this launch)"};
  if (token_for_job(options.command, cluster::process_getenv)) secrets.token = "(a secret of this launch)";
  for (size_t i = 0; i < tasks.size(); ++i) {
    const std::vector<Variable> variables = variables_of(configs[i], secrets, "(a file for the results)");
    if (options.json) {
      print_line(context.out, object(tasks[i], variables, options.command));
    } else {
      context.out << "# " << tasks[i].name << "\n" << shell_line(variables, options.command) << "\n";
    }
  }
  return 0;
}

}  // namespace shoal::cli::launch
