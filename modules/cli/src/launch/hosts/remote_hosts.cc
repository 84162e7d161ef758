// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/remote_hosts.h"

#include <algorithm>
#include <charconv>

#include "launch/credentials.h"
#include "launch/hosts/placement.h"
#include "launch/hosts/ssh_command.h"
#include "shoal/base/split_text.h"
#include "shoal/cluster/quiet_ports.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli::launch {
namespace {

constexpr Duration kPreparing = std::chrono::seconds(30);
constexpr Duration kCleaning = std::chrono::seconds(10);

/// True for a name, which a host has to resolve; false for an IPv4 address or an IPv6 address in brackets.
bool is_looked_up(const std::string& address) {
  return !address.starts_with('[') && address.find_first_not_of("0123456789.") != std::string::npos;
}

std::set<uint16_t> ports_of(const std::string& hex_words) {
  std::set<uint16_t> ports;
  for (const std::string_view word : split_at_blanks(hex_words)) {
    uint16_t port = 0;
    const char* const end = word.data() + word.size();
    if (std::from_chars(word.data(), end, port, 16).ptr == end) ports.insert(port);
  }
  return ports;
}

}  // namespace

Result<std::unique_ptr<RemoteHosts>> RemoteHosts::create(Storage& storage, HostsOptions options, std::vector<JobTask> tasks,
                                                         JobCommand command) {
  std::unique_ptr<RemoteHosts> made(new RemoteHosts(storage, std::move(options), std::move(tasks), std::move(command)));
  SHOAL_TRY(made->places_, place_tasks(made->tasks_, made->options_.hosts));
  const std::set<size_t> used(made->places_.begin(), made->places_.end());
  made->used_.assign(used.begin(), used.end());
  made->ports_.resize(made->tasks_.size());
  made->job_ = storage.unique_name();
  made->draws_.emplace(hash64(made->job_));
  SHOAL_TRY(made->ssh_file_, find_program(made->options_.ssh.front()));
  // Removes the SHOAL_ variables from the environment of ssh. One may hold the job's token, which only the tasks need. They
  // get these variables (forwarded_) by the standard input of their ssh sessions.
  made->ssh_environment_ = environment_without("SHOAL_");
  SHOAL_TRY(made->forwarded_, with_token_read(variables_that_begin_with("SHOAL_")));
  allow_open_files(files_for(made->tasks_.size()));
  if (made->options_.copy) {
    SHOAL_TRY(const std::string file, find_program(made->command_.program.front()));
    SHOAL_TRY(made->copy_, copy_of_program(storage, file));
  }
  return made;
}

std::string RemoteHosts::where() const {
  return used_.size() == 1 ? "on " + options_.hosts[used_.front()].name : "on " + std::to_string(used_.size()) + " hosts";
}

std::string RemoteHosts::folder_on(size_t host) const {
  return join_path(options_.temporary_folder, "shoal-launch-" + job_ + "-" + std::to_string(host));
}

Program RemoteHosts::ssh(size_t host, const std::string& script) const {
  return {.file = ssh_file_,
          .command = ssh_command(options_.ssh, options_.hosts[host], bootstrap(script.size())),
          .environment = ssh_environment_,
          .reads_input = true};
}

std::vector<LastCommand> RemoteHosts::last_commands() const {
  std::vector<LastCommand> commands;
  for (const size_t host : used_) {
    std::string script = cleaning_script(fresh_mark(), folder_on(host));
    const Program program = ssh(host, script);
    commands.push_back({program.file, program.command, program.environment, std::move(script)});
  }
  return commands;
}

Session RemoteHosts::preparing_session(size_t host, const std::vector<std::string>& addresses) const {
  Preparation preparation{.mark = fresh_mark(),
                          .folder = folder_on(host),
                          .work_folder = options_.work_folder,
                          .program = command_.program.front(),
                          .addresses = addresses};
  if (options_.copy) {
    preparation.copy_name = copy_.name;
    preparation.copy_sum = copy_.sum;
  }
  Session session{.program = {}, .mark = preparation.mark, .script = preparing_script(preparation), .file = copy_.bytes};
  session.program = ssh(host, session.script);
  return session;
}

std::set<std::string> RemoteHosts::names_to_look_up() const {
  std::set<std::string> names;
  // A task without peers connects to nobody.
  const auto connects = [](const JobTask& task) { return task.has_address(); };
  if (std::count_if(tasks_.begin(), tasks_.end(), connects) < 2) return names;
  for (const size_t host : used_) {
    if (is_looked_up(options_.hosts[host].address)) names.insert(options_.hosts[host].address);
  }
  return names;
}

Result<void> RemoteHosts::prepare(SignalInbox& inbox) {
  const std::set<std::string> names = names_to_look_up();
  std::vector<Session> sessions;
  for (const size_t host : used_) sessions.push_back(preparing_session(host, {names.begin(), names.end()}));
  const auto outcomes = run_sessions(sessions, kPreparing, inbox);
  if (!outcomes) {
    clean_up(used_, inbox);  // Some hosts may have made their folders already.
    return outcomes.error();
  }
  std::optional<Error> first;
  std::string others;
  for (size_t i = 0; i < used_.size(); ++i) {
    const Result<void> checked = check(used_[i], (*outcomes)[i]);
    if (checked) continue;
    if (first) others += (others.empty() ? "" : ", ") + options_.hosts[used_[i]].name;
    if (!first) first = checked.error();
  }
  if (!first) return {};
  clean_up(inbox);
  return Error(first->kind(), first->message() + (others.empty() ? "" : " (The same or worse holds for " + others + ".)"));
}

Result<void> RemoteHosts::check(size_t host, const SessionOutcome& outcome) {
  const Host& at = options_.hosts[host];
  if (outcome.said_of("ready")) prepared_.push_back(host);
  if (const auto why = outcome.said_of("failed")) return failed_precondition(at.name + ": " + *why);
  if (!outcome.in_time) {
    return deadline_exceeded(at.name + ": has not answered for " + std::to_string(int(to_seconds(kPreparing))) +
                             " s, though it was reached");
  }
  if (!outcome.said_of("ready")) return ssh_failure(options_.ssh, at, outcome.errors);
  ports_in_use_[host] = ports_of(outcome.said_of("taken").value_or(""));
  return check_names(host, outcome);
}

Result<void> RemoteHosts::check_names(size_t host, const SessionOutcome& outcome) const {
  const std::string& here = options_.hosts[host].name;
  for (const std::string& sentence : outcome.said) {
    const std::vector<std::string_view> words = split_at_blanks(sentence);
    const auto word = [&](size_t i) { return i < words.size() ? std::string(words[i]) : std::string(); };
    const std::string name = word(1), address = word(2);
    if (word(0) != "address") continue;
    const auto of_name = [&](size_t other) { return options_.hosts[other].address == name; };
    const auto owner = std::find_if(used_.begin(), used_.end(), of_name);
    const std::string listed = owner == used_.end() ? name : options_.hosts[*owner].name;
    const std::string remedy = "; address=NUMBERS behind " + listed + " in the list of hosts helps";
    if (address.empty()) return failed_precondition(here + ": does not know the name " + name + remedy);
    const bool loopback = address.starts_with("127.") || address == "::1";
    if (loopback && name != "localhost" && used_.size() > 1) {
      return failed_precondition(here + ": takes " + name + " for itself, " + address +
                                 " (see its /etc/hosts), where others do "
                                 "not reach it" +
                                 remedy);
    }
  }
  return {};
}

Result<std::vector<std::string>> RemoteHosts::choose_addresses() {
  std::vector<std::string> addresses(tasks_.size());
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i].has_address()) continue;
    const Host& host = options_.hosts[places_[i]];
    const std::set<uint16_t>& in_use = ports_in_use_[places_[i]];
    const auto start = uint32_t(draws_->below(cluster::kQuietPorts));
    ports_[i] = 0;
    for (uint32_t step = 0; step < cluster::kQuietPorts && ports_[i] == 0; ++step) {
      const auto port = uint16_t(cluster::kQuietPortFirst + (start + step) % cluster::kQuietPorts);
      if (!in_use.contains(port) && ports_drawn_.insert(port).second) ports_[i] = port;
    }
    if (ports_[i] == 0) return unavailable(host.name + ": none of its ports from 20000 to 31999 is free");
    addresses[i] = host.address + ":" + std::to_string(ports_[i]);
  }
  return addresses;
}

Supervision RemoteHosts::supervision_of(size_t task, const TaskStart& how, const std::string& mark) const {
  const size_t host = places_[task];
  const std::string report = join_path(folder_on(host), tasks_[task].file_name + ".json");
  Supervision supervision{.mark = mark,
                          .folder = folder_on(host),
                          .work_folder = options_.work_folder,
                          .task = tasks_[task].file_name,
                          .port = ports_[task],
                          .variables = variables_of(how.tf_config, how.job, report),
                          .command = command_of(task)};
  const size_t own = supervision.variables.size();
  for (const Variable& variable : forwarded_) {
    const auto same = [&](const Variable& other) { return other.first == variable.first; };
    const auto end = supervision.variables.begin() + std::ptrdiff_t(own);
    if (std::none_of(supervision.variables.begin(), end, same)) supervision.variables.push_back(variable);
  }
  return supervision;
}

std::vector<std::string> RemoteHosts::command_of(size_t task) const {
  JobCommand command = command_;
  if (options_.copy) command.program.front() = join_path(folder_on(places_[task]), copy_.name);
  return command.words();
}

std::vector<std::string> RemoteHosts::ssh_for(size_t task, const TaskStart& how) const {
  return ssh(places_[task], supervising_script(supervision_of(task, how, fresh_mark()))).command;
}

Result<TaskProcess> RemoteHosts::start(size_t task, const TaskStart& how, TaskStream output, TaskStream errors) {
  std::string mark = fresh_mark();
  std::string script = supervising_script(supervision_of(task, how, mark));
  Program program = ssh(places_[task], script);
  // ssh must live on if this launcher dies: the guard process then uses it to ask the remote task to save and end.
  program.told_of_our_death = false;
  SHOAL_TRY(ChildGroup group, ChildGroup::start(program));
  SessionLink link(std::move(group.input()), std::move(script), std::move(mark), steady_now());
  link.write();
  return TaskProcess(std::move(group), std::move(output), std::move(errors), std::move(link));
}

std::vector<std::string> RemoteHosts::clean_up(SignalInbox& inbox) { return clean_up(std::exchange(prepared_, {}), inbox); }

std::vector<std::string> RemoteHosts::clean_up(const std::vector<size_t>& hosts, SignalInbox& inbox) {
  std::vector<Session> sessions;
  for (const size_t host : hosts) {
    Session session{.program = {}, .mark = fresh_mark(), .script = {}};
    session.script = cleaning_script(session.mark, folder_on(host));
    session.program = ssh(host, session.script);
    sessions.push_back(std::move(session));
  }
  std::vector<std::string> complaints;
  // A signal does not end the cleaning, which takes kCleaning at most: the copies of the program would stay on the hosts.
  const auto outcomes = run_sessions(sessions, kCleaning, inbox, OnSignal::kGoOn);
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (outcomes && (*outcomes)[i].said_of("removed")) continue;
    complaints.push_back(options_.hosts[hosts[i]].name + ": the folder " + folder_on(hosts[i]) + " may be left there");
  }
  return complaints;
}

}  // namespace shoal::cli::launch
