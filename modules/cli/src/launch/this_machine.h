// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a job on this machine, as processes at ports of the loopback.
#include <optional>

#include "launch/machines.h"
#include "launch/ports.h"

namespace shoal::cli::launch {

class ThisMachine final : public Machines {
 public:
  ThisMachine(std::vector<JobTask> tasks, const JobCommand& command)
      : tasks_(std::move(tasks)), ports_(tasks_.size()), command_(command) {}

  std::string where() const override { return "on this machine"; }
  std::string host(size_t) const override { return ""; }
  std::string where(size_t) const override { return ""; }
  std::vector<LastCommand> last_commands() const override { return {}; }
  /// Finds the file of the job's program, and reads the user's token. Errors: those of find_program() and
  /// read_token_of_user().
  Result<void> prepare(SignalInbox& inbox) override;
  Result<std::vector<std::string>> choose_addresses() override;
  Result<TaskProcess> start(size_t task, const TaskStart& how, TaskStream output, TaskStream errors) override;
  std::vector<size_t> listening() const override;
  std::vector<std::string> clean_up(SignalInbox&) override { return {}; }

 private:
  const std::vector<JobTask> tasks_;
  std::vector<std::optional<ReservedPort>> ports_;
  JobCommand command_;
  std::vector<Variable> token_;  // The variables that give the tasks the user's token.
  Program program_;
};

}  // namespace shoal::cli::launch
