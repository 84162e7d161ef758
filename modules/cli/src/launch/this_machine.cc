// SPDX-License-Identifier: Apache-2.0
#include "launch/this_machine.h"

#include "launch/credentials.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {

Result<void> ThisMachine::prepare(SignalInbox&) {
  SHOAL_TRY(program_.file, find_program(command_.words().front()));
  SHOAL_TRY(CommandWithToken with_token, read_token_of_user(command_.program, cluster::process_getenv));
  command_.program = std::move(with_token.command);
  token_ = std::move(with_token.variables);
  program_.command = command_.words();
  program_.files = allow_open_files(files_for(tasks_.size()));
  return {};
}

Result<std::vector<std::string>> ThisMachine::choose_addresses() {
  SHOAL_TRY_VOID(check_loopback());
  // The old ports stay reserved until new ones are chosen, so that the new ones differ.
  const std::vector<std::optional<ReservedPort>> before =
      std::exchange(ports_, std::vector<std::optional<ReservedPort>>(tasks_.size()));
  std::vector<std::string> addresses(tasks_.size());
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i].has_address()) continue;
    SHOAL_TRY(ports_[i], ReservedPort::on_loopback());
    addresses[i] = "127.0.0.1:" + std::to_string(ports_[i]->number());
  }
  return addresses;
}

Result<TaskProcess> ThisMachine::start(size_t, const TaskStart& how, TaskStream output, TaskStream errors) {
  std::vector<Variable> variables = variables_of(how.tf_config, how.job, how.report_file);
  variables.insert(variables.end(), token_.begin(), token_.end());
  program_.environment = environment_with(variables);
  SHOAL_TRY(ChildGroup group, ChildGroup::start(program_));
  return TaskProcess(std::move(group), std::move(output), std::move(errors));
}

std::vector<size_t> ThisMachine::listening() const {
  const std::set<uint16_t> ports = listening_ports();
  std::vector<size_t> tasks;
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i] && ports.contains(ports_[i]->number())) tasks.push_back(i);
  }
  return tasks;
}

}  // namespace shoal::cli::launch
