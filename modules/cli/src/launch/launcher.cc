// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "launch/credentials.h"
#include "launch/job_progress.h"
#include "launch/lost_steps.h"
#include "launch/machines.h"
#include "launch/metrics_ports.h"
#include "launch/recoveries.h"
#include "launch/results.h"
#include "launch/screen.h"
#include "launch/this_machine.h"
#include "shoal/base/process_info.h"
#include "shoal/base/utc_text.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/json/text.h"
#include "shoal/monitor/progress.h"

namespace shoal::cli::launch {
namespace {

constexpr Duration kLookAtPorts = std::chrono::milliseconds(100);
// The most time that tasks get to end once their launcher has died. A parameter server waits as long for the last
// messages of its job.
constexpr Duration kPatienceOfGuard = std::chrono::seconds(20);

/// One task of the job, from the start of its first process to the end of its last.
struct Seat {
  JobTask task;
  std::string tf_config{};
  std::string report_file{};
  std::optional<TaskLog> log{};
  std::optional<TaskProcess> running{};
};

std::vector<PolicyTask> policy_tasks(const std::vector<JobTask>& tasks) {
  std::vector<PolicyTask> of_policy;
  of_policy.reserve(tasks.size());
  for (const JobTask& task : tasks) of_policy.push_back({task.name, task.role});
  return of_policy;
}

std::vector<Role> roles_of(const std::vector<JobTask>& tasks) {
  std::vector<Role> roles;
  roles.reserve(tasks.size());
  for (const JobTask& task : tasks) roles.push_back(task.role);
  return roles;
}

std::vector<std::string> names_of(const std::vector<JobTask>& tasks) {
  std::vector<std::string> names;
  names.reserve(tasks.size());
  for (const JobTask& task : tasks) names.push_back(task.name);
  return names;
}

/// A folder that the destructor removes, with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder(Storage& storage, std::string path) : storage_(storage), path_(std::move(path)) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { static_cast<void>(storage_.remove_all(path_)); }
  const std::string& path() const { return path_; }

 private:
  Storage& storage_;
  std::string path_;
};

class Launcher {
 public:
  Launcher(Context& context, const LaunchOptions& options, const std::vector<JobTask>& tasks,
           std::unique_ptr<Machines> machines)
      : context_(context),
        options_(options),
        policy_(policy_tasks(tasks), options.policy),
        recoveries_(names_of(tasks)),
        lost_steps_(tasks.size()),
        progress_(roles_of(tasks)),
        screen_(context, shows_table(context, options), options.json,
                [this](TableSize size) { return table_lines(rows(), size); }),
        machines_(std::move(machines)) {
    for (const JobTask& task : tasks) seats_.push_back({.task = task});
  }

  Result<int> run();

 private:
  Result<void> run_tasks(const std::string& folder);
  Result<void> prepare(const std::string& folder);
  Result<void> train();
  Result<void> choose_ports();
  Result<void> carry_out(const Actions& actions);
  Result<void> start(size_t task);
  Result<void> turn();

  void read_outputs();
  Result<void> heed(const std::vector<int>& signals);
  Result<void> settle_ends();
  Result<void> end(size_t task);
  Ending ending_of(size_t task) const;
  void look_who_is_back();
  void print_end(int status);
  JobResults collect_results(int status) const;
  void print_results(const JobResults& results);
  Json failed(Json results, int status) const;
  void write_report(const Json& report);
  std::vector<TableRow> rows();
  TableRow row_of(size_t task);
  bool heed_line(size_t task, std::string_view line);
  void say(const std::string& text) { screen_.say(text); }

  Context& context_;
  const LaunchOptions& options_;
  JobPolicy policy_;
  Recoveries recoveries_;
  LostSteps lost_steps_;
  JobProgress progress_;
  Screen screen_;
  JobWide job_;
  OrphanAdoption adoption_;
  std::optional<SignalInbox> inbox_{};
  std::optional<Guard> guard_{};
  std::unique_ptr<Machines> machines_;
  std::vector<Seat> seats_;  // One Seat for each task of the job, in the order of policy_'s tasks.
};

/// Makes the folder for what the tasks of this job report. Its path is absolute even if TMPDIR is not, since tasks may run
/// in another folder than this process: a program or a --wrapper may change it.
Result<std::string> make_job_folder(Storage& storage) {
  const std::string above = storage.full_path(read_process_info().temporary_folder);
  Result<std::string> made = storage.make_temporary_folder(join_path(above, "shoal-launch-"));
  if (made) return made;
  return Error(made.error().kind(), made.error().message() +
                                        ". The launcher needs a folder for what its tasks report: the environment variable "
                                        "TMPDIR names another one than " +
                                        above);
}

/// SIGHUP from a closed terminal counts as SIGTERM: tasks save what they have trained.
int terminate_or_interrupt(int signal) { return signal == SIGHUP ? SIGTERM : signal; }

Result<int> Launcher::run() {
  // The inbox is opened first: without it, a signal would end this process, and the folder would be left.
  SHOAL_TRY(SignalInbox inbox, SignalInbox::open());
  inbox_.emplace(std::move(inbox));
  SHOAL_TRY(std::string path, make_job_folder(context_.storage));
  const TemporaryFolder folder(context_.storage, std::move(path));
  const Result<void> done = run_tasks(folder.path());
  screen_.begin_end();
  if (done) screen_.leave_table(steady_now());
  screen_.remove_table();
  if (done) print_end(*policy_.status());
  screen_.finish(*inbox_);
  if (!done) return done.error();
  return *policy_.status();
}

Result<void> Launcher::run_tasks(const std::string& folder) {
  SHOAL_TRY_VOID(prepare(folder));
  if (policy_.status()) return {};
  Result<void> trained = train();
  for (Seat& seat : seats_) seat.running.reset();  // Ends the tasks that still run after an error.
  for (const std::string& complaint : machines_->clean_up(*inbox_)) say(complaint);
  return trained;
}

Result<void> Launcher::prepare(const std::string& folder) {
  job_.shows_table = screen_.has_table();
  job_.gives_way = options_.policy.terminate_means_leave;
  job_.run = "launch-" + context_.storage.unique_name();
  job_.token = token_for_job(options_.command.program, cluster::process_getenv);
  SHOAL_TRY(job_.trial, cluster::trial_from_environment(cluster::process_getenv));
  SHOAL_TRY(Guard guard,
            Guard::start(folder, std::min(options_.policy.stop_limit, kPatienceOfGuard), machines_->last_commands()));
  guard_.emplace(std::move(guard));
  if (const Result<void> ready = machines_->prepare(*inbox_); !ready) {
    if (ready.error().kind() != ErrorKind::kCancelled) return ready.error();
    return carry_out(policy_.interrupted_before_begin(terminate_or_interrupt(inbox_->stop_signal())));
  }
  for (Seat& seat : seats_) seat.report_file = join_path(folder, seat.task.file_name + ".json");
  return {};
}

Result<void> Launcher::train() {
  SHOAL_TRY_VOID(choose_ports());
  if (options_.log_dir) SHOAL_TRY_VOID(context_.storage.make_folders(*options_.log_dir));
  for (Seat& seat : seats_) {
    if (!options_.log_dir) break;
    SHOAL_TRY(seat.log, TaskLog::open(context_.storage, join_path(*options_.log_dir, seat.task.file_name + ".log")));
  }
  say(std::to_string(seats_.size()) + (seats_.size() == 1 ? " task " : " tasks ") + machines_->where() +
      (options_.log_dir ? "; what each writes is in " + *options_.log_dir : ""));
  SHOAL_TRY(const auto metrics, metrics_line(options_.command.program, tasks_of(options_.size), cluster::process_getenv));
  if (metrics) say(*metrics);
  if (!options_.size.evaluator && !options_.size.master) {
    say("there is neither an evaluator nor a master, so nothing is evaluated or exported (--evaluator)");
  }
  SHOAL_TRY_VOID(carry_out(policy_.begin(steady_now())));
  while (!policy_.status()) SHOAL_TRY_VOID(turn());
  return {};
}

Result<void> Launcher::choose_ports() {
  SHOAL_TRY(const std::vector<std::string> addresses, machines_->choose_addresses());
  std::vector<JobTask> tasks;
  for (const Seat& seat : seats_) tasks.push_back(seat.task);
  SHOAL_TRY(const std::vector<std::string> configs, tf_configs(tasks, addresses));
  for (size_t i = 0; i < seats_.size(); ++i) seats_[i].tf_config = configs[i];
  return {};
}

Result<void> Launcher::carry_out(const Actions& actions) {
  std::vector<std::pair<size_t, Ending>> not_started;
  for (const Action& action : actions) {
    if (const auto* begin = std::get_if<Start>(&action)) {
      const Result<void> started = start(begin->task);
      if (started) continue;
      say(seats_[begin->task].task.name + ": " + started.error().message());
      not_started.push_back({begin->task, {.status = exit_status(started.error().kind())}});
    }
    if (const auto* send = std::get_if<Send>(&action); send && seats_[send->task].running) {
      seats_[send->task].running->send(send->signal, steady_now());
    }
    if (std::holds_alternative<ChoosePorts>(action)) SHOAL_TRY_VOID(choose_ports());
    if (const auto* sentence = std::get_if<Say>(&action)) say(sentence->text);
  }
  for (const auto& [task, ending] : not_started) SHOAL_TRY_VOID(carry_out(policy_.ended(task, ending, steady_now())));
  return {};
}

Result<void> Launcher::start(size_t task) {
  Seat& seat = seats_[task];
  TaskLog* log = seat.log ? &*seat.log : nullptr;
  // What an earlier process of the task reported must not count for this one.
  static_cast<void>(context_.storage.remove(seat.report_file));
  const TaskStart how{.tf_config = seat.tf_config, .job = job_, .report_file = seat.report_file};
  const auto heed = [this, task](std::string_view line) { return heed_line(task, line); };
  SHOAL_TRY(TaskProcess process, machines_->start(task, how, TaskStream(seat.task.name, screen_.output(), log),
                                                  TaskStream(seat.task.name, screen_.errors(), log, heed)));
  progress_.started(task);
  const pid_t id = process.group().id();
  guard_->add(id, process.words());
  if (log) {
    log->append("--- " + utc_text(wall_now()) + ": " + seat.task.name + " starts" + machines_->where(task) +
                " as process " + std::to_string(id) + (process.words() < 0 ? "" : " (ssh)") + "\n");
  }
  seat.running.emplace(std::move(process));
  recoveries_.started(task, seat.task.has_address(), steady_now());
  return {};
}

/// Waits for the next event, then handles all events that have arrived.
Result<void> Launcher::turn() {
  read_outputs();
  SHOAL_TRY_VOID(heed(inbox_->take()));
  SHOAL_TRY_VOID(settle_ends());
  look_who_is_back();
  const auto next = policy_.next_time();
  if (next && *next <= steady_now()) SHOAL_TRY_VOID(carry_out(policy_.time_passed(steady_now())));
  for (Seat& seat : seats_) {
    if (seat.running) seat.running->time_passed(steady_now());
    if (!seat.log) continue;
    seat.log->flush();
    if (const auto error = seat.log->take_error()) say("a log is not complete: " + error->message());
  }
  screen_.update(steady_now());
  return {};
}

/// Handles a line of a task's output. Returns true if the line is to be shown. Without the table of tasks, all lines are
/// shown. Above the table, these are shown: warnings, the program's own lines, and, if there are no log files, information.
/// Lines about progress are not shown there, because the table itself shows the progress.
bool Launcher::heed_line(size_t task, std::string_view line) {
  lost_steps_.heed(task, line);
  progress_.heed(task, line);
  if (!screen_.has_table()) return true;
  const LineKind kind = kind_of(line);
  return kind == LineKind::kOwn || kind == LineKind::kWarning || (kind == LineKind::kInformation && !options_.log_dir);
}

TableRow Launcher::row_of(size_t task) {
  Seat& seat = seats_[task];
  const TaskProgress& progress = progress_.of(task);
  TableRow row{.task = seat.task.name, .host = machines_->host(task)};
  row.state = state_text(policy_.state_of(task), seat.task.role, progress, steady_now());
  const bool at_work = seat.running && progress.works && progress.waiting_for.empty();
  row.settled = at_work || policy_.state_of(task).done;
  if (progress.step) row.step = std::to_string(*progress.step);
  if (const int restarts = recoveries_.restarts(task); restarts > 0) row.restarts = std::to_string(restarts);
  if (!seat.running) return row;
  row.steps_per_second = progress.steps_per_second;
  row.examples_per_second = progress.examples_per_second;
  row.waiting_for = progress.waiting_for;
  const bool is_here = seat.running->words() < 0;
  if (const auto bytes = is_here ? seat.running->group().resident_bytes() : std::nullopt) {
    row.memory = monitor::format_bytes(*bytes);
  }
  return row;
}

std::vector<TableRow> Launcher::rows() {
  std::vector<TableRow> rows;
  rows.reserve(seats_.size());
  for (size_t i = 0; i < seats_.size(); ++i) rows.push_back(row_of(i));
  return rows;
}

void Launcher::read_outputs() {
  std::vector<int> descriptors{inbox_->descriptor()}, writers = screen_.writers();
  std::optional<SteadyTime> until = policy_.next_time();
  const auto not_after = [&until](SteadyTime time) { until = std::min(until.value_or(time), time); };
  const auto held_back_until = screen_.waits_for_readers_until(steady_now());
  if (held_back_until) not_after(*held_back_until);
  for (Seat& seat : seats_) {
    const bool reads = seat.running && !held_back_until;
    descriptors.push_back(reads ? seat.running->group().output().number() : -1);
    descriptors.push_back(reads ? seat.running->group().errors().number() : -1);
    writers.push_back(seat.running ? seat.running->waits_to_write() : -1);
    if (const auto next = seat.running ? seat.running->next_time() : std::nullopt) not_after(*next);
  }
  if (const auto update = screen_.next_update()) not_after(*update);
  if (recoveries_.any_awaited(steady_now())) not_after(steady_now() + kLookAtPorts);
  const std::vector<bool> ready = wait_for_input(descriptors, until, writers);
  for (size_t i = 0; i < seats_.size(); ++i) {
    if (!seats_[i].running) continue;
    seats_[i].running->write();
    seats_[i].running->read(ready[1 + 2 * i], ready[2 + 2 * i]);
  }
}

Result<void> Launcher::heed(const std::vector<int>& signals) {
  for (const int signal : signals) {
    if (signal == SIGCHLD) {
      for (Seat& seat : seats_) {
        if (seat.running) seat.running->group().look();
      }
      SHOAL_TRY_VOID(guard_->look());
      std::vector<pid_t> groups;
      for (Seat& seat : seats_) {
        if (seat.running) groups.push_back(seat.running->group().id());
      }
      reap_adopted(guard_->id(), groups);
    } else {
      SHOAL_TRY_VOID(carry_out(policy_.interrupted(terminate_or_interrupt(signal), steady_now())));
    }
  }
  return {};
}

Result<void> Launcher::settle_ends() {
  for (size_t i = 0; i < seats_.size(); ++i) {
    if (!seats_[i].running) continue;
    ChildGroup& group = seats_[i].running->group();
    if (group.program_status() && !group.is_gone() && !policy_.lets_leave()) {
      group.send(SIGKILL);  // Kills processes that the program has left behind.
      group.look();
    }
    if (group.program_status() && group.is_gone()) SHOAL_TRY_VOID(end(i));
  }
  return {};
}

Result<void> Launcher::end(size_t task) {
  Seat& seat = seats_[task];
  TaskProcess& running = *seat.running;
  running.read_rest();
  if (const auto complaint = running.complaint()) say(seat.task.name + machines_->where(task) + ": " + *complaint);
  if (const auto report = running.report()) {
    const Result<void> written = context_.storage.write_atomically(seat.report_file, *report + "\n");
    if (!written) say("the results of " + seat.task.name + " are lost: " + written.error().message());
  }
  const Ending ending = ending_of(task);
  guard_->remove(running.group().id());
  recoveries_.ended(task, policy_.killed_by_chaos(task), steady_now());
  seat.running.reset();
  return carry_out(policy_.ended(task, ending, steady_now()));
}

Ending Launcher::ending_of(size_t task) const {
  Ending ending = seats_[task].running->ending();
  ending.was_at_work = progress_.of(task).works;
  if (ending.clean() || ending.signal != 0) return ending;
  // All processes of the task are gone. So a process that listens at the task's address now is not part of the job.
  const std::vector<size_t> listening = machines_->listening();
  ending.port_taken = ending.port_taken || std::find(listening.begin(), listening.end(), task) != listening.end();
  return ending;
}

void Launcher::look_who_is_back() {
  if (!recoveries_.any_awaited(steady_now())) return;
  for (const size_t task : machines_->listening()) recoveries_.listens(task, steady_now());
  for (size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].running && seats_[i].running->listens()) recoveries_.listens(i, steady_now());
  }
}

void Launcher::print_end(int status) {
  const JobResults results = collect_results(status);
  for (const std::string& line : recoveries_.lines()) say(line);
  if (const std::string lost = lost_steps_.line(); !lost.empty()) say(lost);
  if (status == 0 && options_.size.evaluator) {
    if (const std::string text = unevaluated_text(results, seats_.back().task.name); !text.empty()) say(text);
  }
  if (status == 0) {
    say("the job has ended with status 0");
  } else if (status == kGaveWayStatus) {
    say("the job gave way (status 143): it has not ended, and the same command goes on");
  } else {
    say("the job has ended with status " + std::to_string(status) +
        (options_.log_dir ? "; what each task wrote is in " + *options_.log_dir : ""));
  }
  if (status == kGaveWayStatus) return;
  write_report(status == 0 ? results.json : failed(results.json, status));
  if (status == 0) print_results(results);
}

JobResults Launcher::collect_results(int status) const {
  std::vector<std::string> files;
  for (const Seat& seat : seats_) files.push_back(seat.report_file);
  JobResults results = results_of(context_.storage, files);
  // Such a job was interrupted before its chief could report anything.
  if (status == 0 && !policy_.trained()) results.json = interrupted_results(std::move(results.json));
  return results;
}

/// Returns the report of a failed job: the results, with the error of the first task that has reported one.
Json Launcher::failed(Json results, int status) const {
  for (const Seat& seat : seats_) {
    if (const auto error = failure_of(context_.storage, seat.report_file)) {
      return failed_results(std::move(results), seat.task.name + ": " + *error);
    }
  }
  return failed_results(std::move(results), "the job has ended with status " + std::to_string(status));
}

/// Writes the report for the program that started this launch. If writing fails, the status of the job stays the same.
void Launcher::write_report(const Json& report) {
  const std::string file = cluster::process_getenv("SHOAL_REPORT_FILE").value_or("");
  if (file.empty()) return;
  const auto written = context_.storage.write_atomically(file, json::text_of(report) + "\n");
  if (!written) say("SHOAL_REPORT_FILE: " + written.error().message());
}

void Launcher::print_results(const JobResults& results) {
  if (options_.json) {
    print_line(screen_.results(), results.json);
  } else if (const std::string text = results_text(results); !text.empty()) {
    screen_.results() << text << "\n";
  }
}

}  // namespace

/// The table is drawn on standard error. If standard output is a pipe, for example to `tee`, the program at its other end
/// may print the tasks' lines to the same terminal, in the middle of the table. So there is a table only if standard
/// output is a terminal itself, or gets nothing but JSON.
bool shows_table(const Context& context, const LaunchOptions& options) {
  return options.table && context.terminals.errors && (context.terminals.output || options.json);
}

Result<int> run_job(Context& context, const LaunchOptions& options) {
  std::vector<JobTask> tasks = tasks_of(options.size);
  std::unique_ptr<Machines> machines;
  if (options.hosts) {
    SHOAL_TRY(machines, RemoteHosts::create(context.storage, *options.hosts, tasks, options.command));
  } else {
    machines = std::make_unique<ThisMachine>(tasks, options.command);
  }
  return Launcher(context, options, tasks, std::move(machines)).run();
}

}  // namespace shoal::cli::launch
