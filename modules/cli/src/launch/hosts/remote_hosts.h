// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a job on several machines that ssh reaches: with an ssh session for each process of a task, and a folder on each
/// host.
#include <map>
#include <memory>
#include <set>

#include "launch/hosts/hosts_file.h"
#include "launch/hosts/program_copy.h"
#include "launch/hosts/scripts.h"
#include "launch/hosts/sessions.h"
#include "launch/machines.h"
#include "shoal/base/random.h"

namespace shoal::cli::launch {

struct HostsOptions {
  std::vector<Host> hosts{};
  std::vector<std::string> ssh{"ssh"};   ///< The user's ssh program and its options.
  bool copy = false;                     ///< Whether the program is sent to each host.
  std::string work_folder{};             ///< The folder on the hosts in which tasks run.
  std::string temporary_folder{"/tmp"};  ///< The folder on the hosts in which a folder for the job is made.
};

class RemoteHosts final : public Machines {
 public:
  /// InvalidArgument: the tasks do not fit the hosts (place_tasks()). NotFound, FailedPrecondition: there is no ssh, or no
  /// program to copy. `storage` outlives the object.
  static Result<std::unique_ptr<RemoteHosts>> create(Storage& storage, HostsOptions options, std::vector<JobTask> tasks,
                                                     JobCommand command);

  std::string where() const override;
  std::string host(size_t task) const override { return options_.hosts[places_[task]].name; }
  std::string where(size_t task) const override { return " on " + host(task); }
  std::vector<LastCommand> last_commands() const override;
  /// Connects to every host that has a task, makes a folder there and sends the program. FailedPrecondition, Unavailable or
  /// DeadlineExceeded, naming the host.
  Result<void> prepare(SignalInbox& inbox) override;
  Result<std::vector<std::string>> choose_addresses() override;
  Result<TaskProcess> start(size_t task, const TaskStart& how, TaskStream output, TaskStream errors) override;
  std::vector<size_t> listening() const override { return {}; }  // The sessions report who listens.
  std::vector<std::string> clean_up(SignalInbox& inbox) override;

  /// The ssh command that starts a task, for --dry-run. The script that ssh reads from its standard input is not included.
  std::vector<std::string> ssh_for(size_t task, const TaskStart& how) const;
  /// The command that runs on the task's host: a --wrapper such as `taskset -c 0` if the user gave one, the program's
  /// name on this host, and the program's arguments.
  std::vector<std::string> command_of(size_t task) const;

 private:
  RemoteHosts(Storage& storage, HostsOptions options, std::vector<JobTask> tasks, JobCommand command)
      : storage_(storage), options_(std::move(options)), tasks_(std::move(tasks)), command_(std::move(command)) {}

  Supervision supervision_of(size_t task, const TaskStart& how, const std::string& mark) const;
  Program ssh(size_t host, const std::string& script) const;
  std::string folder_on(size_t host) const;
  std::string fresh_mark() const { return "shoal-" + storage_.unique_name(); }
  std::set<std::string> names_to_look_up() const;
  Session preparing_session(size_t host, const std::vector<std::string>& addresses) const;
  Result<void> check(size_t host, const SessionOutcome& outcome);
  Result<void> check_names(size_t host, const SessionOutcome& outcome) const;
  std::vector<std::string> clean_up(const std::vector<size_t>& hosts, SignalInbox& inbox);

  Storage& storage_;
  const HostsOptions options_;
  const std::vector<JobTask> tasks_;
  const JobCommand command_;
  std::vector<Variable> forwarded_;  // Environment variables of this process that tasks get, too.
  std::vector<size_t> places_;       // For each task: the number of its host.
  std::vector<size_t> used_;         // The hosts that have a task.
  std::string job_;                  // A unique text, part of the names of the job's folders.
  std::string ssh_file_;
  std::vector<std::string> ssh_environment_;
  ProgramCopy copy_;
  std::map<size_t, std::set<uint16_t>> ports_in_use_;  // Keyed by the number of a host.
  std::set<uint16_t> ports_drawn_;
  std::vector<uint16_t> ports_;  // The port of each task.
  std::vector<size_t> prepared_;
  std::optional<RandomStream> draws_{};
};

}  // namespace shoal::cli::launch
