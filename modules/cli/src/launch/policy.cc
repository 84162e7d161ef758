// SPDX-License-Identifier: Apache-2.0
#include "launch/policy.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "shoal/base/check.h"
#include "shoal/base/error.h"
#include "shoal/base/format.h"
#include "shoal/base/stop.h"

namespace shoal::cli::launch {
namespace {

constexpr Duration kFirstNote = std::chrono::seconds(10);
constexpr Duration kNoteEvery = std::chrono::seconds(60);

// The evaluator may have failed in its last evaluation, or after it, as when it could not write an export.
constexpr const char* kTrainedOnly = "; the model is trained, but its last evaluation or an export of it is missing";

/// Returns in words why another start of the task would fail in the same way, if is_permanent_status() is true for its exit
/// status. Null for any other status, since another start may then succeed.
const char* permanent(const Ending& ending) {
  if (ending.signal != 0) return nullptr;
  switch (ending.status) {
    case 2: return "wrong usage or configuration";
    case 3: return "the loss was not a number";
    case 4: return "damaged data or checkpoint";
    default: return nullptr;
  }
}

std::string seconds_text(Duration duration) { return formatted("%.3g s", to_seconds(duration)); }

}  // namespace

std::string how_it_ended(const Ending& ending) {
  if (ending.connection_lost) return "is lost, since the connection to its host has ended";
  if (ending.signal == 0) return "ended with status " + std::to_string(ending.status);
  const char* name = ::strsignal(ending.signal);
  return "was ended by signal " + std::to_string(ending.signal) + (name ? " (" + std::string(name) + ")" : "");
}

JobPolicy::JobPolicy(std::vector<PolicyTask> tasks, const PolicyOptions& options) : options_(options) {
  SHOAL_CHECK(!tasks.empty() && tasks.front().role == Role::kChief);
  for (PolicyTask& task : tasks) tasks_.push_back({.task = std::move(task)});
  if (options_.chaos) draws_.emplace(*options_.chaos);
}

Actions JobPolicy::begin(SteadyTime now) {
  for (size_t i = 0; i < tasks_.size(); ++i) start(i);
  plan_chaos(now);
  return take();
}

Actions JobPolicy::interrupted_before_begin(int signal) {
  say("a signal: no task was started");
  over_ = options_.terminate_means_leave && signal != SIGINT ? kGaveWayStatus : 0;
  return take();
}

Actions JobPolicy::ended(size_t task, const Ending& ending, SteadyTime now) {
  Entry& entry = tasks_[task];
  SHOAL_CHECK(entry.runs);
  entry.runs = false;
  const bool chaos = std::exchange(entry.chaos, false) && ending.signal == SIGKILL;
  const bool moves = std::exchange(entry.moves, false) && ending.signal == SIGKILL;
  entry.last_status = ending.exit_status();
  if (phase_ == Phase::kInterrupted) ended_when_told(task, ending, chaos || moves);
  if (ending.clean()) {
    entry.done = true;
    if (task == 0) chief_ended(now);
  } else if (phase_ == Phase::kFinishing) {
    ended_while_finishing(task, ending, chaos, now);
  } else if (phase_ == Phase::kTraining) {
    ended_while_training(task, ending, chaos, now);
  }
  after_an_end(now);
  return take();
}

/// Handles the end of a task of an interrupted job. `by_launcher`: the launcher itself had killed the task before the job
/// was interrupted.
void JobPolicy::ended_when_told(size_t task, const Ending& ending, bool by_launcher) {
  Entry& entry = tasks_[task];
  // SIGINT or SIGTERM, sent to ask a task to end, kills the task only if it does not handle signals yet. Such a task had
  // nothing to save, so its status counts as 0. A chief that trains without handling signals may lose what it has trained,
  // so its status counts as 0 only if the job will be continued later.
  const bool unheard = ending.signal == SIGINT || ending.signal == SIGTERM;
  const bool gave_way = ending.gave_way() || ((unheard || by_launcher) && told_to_give_way_);
  if (gave_way) (entry.task.role == Role::kEvaluator ? evaluator_gave_way_ : trainers_gave_way_) = true;
  const bool lost_nothing = unheard && (task != 0 || !ending.was_at_work);
  // A server waits for its chief in vain, and ends with 1 or is killed, if the chief did not live to tell it of the end. A
  // chief that has not reached its servers when the signal comes ends with 0, before or after such a server. So the status 1
  // never counts: if anything was lost, the chief itself has not ended with 0.
  const bool is_server = entry.task.role == Role::kServer;
  const bool gave_up = is_server && ending.status == 1 && ending.signal == 0;
  const bool deserted = is_server && ending.signal == SIGKILL && !tasks_[0].runs && !trained_;
  if (gave_way || lost_nothing || by_launcher || gave_up || deserted) entry.last_status = 0;
  // After the time limit, when limit_ is not set any more, the launcher itself has killed the task, and has said so.
  if (entry.last_status != 0 && limit_) say(entry.task.name + " " + how_it_ended(ending));
}

void JobPolicy::ended_while_training(size_t task, const Ending& ending, bool chaos, SteadyTime now) {
  if (chaos) {
    start(task);
  } else if (ending.port_taken && !permanent(ending)) {
    move(task, now);
  } else if (ending.gave_way()) {
    start_who_gave_way(task, now);
  } else {
    failed(task, ending, now);
  }
}

void JobPolicy::ended_while_finishing(size_t task, const Ending& ending, bool chaos, SteadyTime now) {
  if (tasks_[task].task.role != Role::kEvaluator) {
    say(tasks_[task].task.name + " " + how_it_ended(ending) + " after the chief had ended, which changes nothing");
  } else if (chaos) {
    start(task);
  } else if (evaluation_limit_ && ending.gave_way()) {
    start_who_gave_way(task, now);
  } else if (evaluation_limit_) {
    failed(task, ending, now);
  }
}

Actions JobPolicy::interrupted(int signal, SteadyTime now) {
  const bool first = !first_signal_.has_value();
  if (!first && now < *first_signal_ + kOneStopRequest) return take();
  if (first) first_signal_ = now;
  if (first && phase_ == Phase::kStopping) {
    say("a signal: each task has been asked to leave already; a second one ends the job at once");
    return take();
  }
  stop_waiting();
  if (!first) {
    say("a second signal: every task is killed");
    if (phase_ == Phase::kInterrupted) failure_ = 128 + signal;
    phase_ = Phase::kStopping;
    send_all(SIGKILL);
  } else {
    // In Phase::kMoving all tasks are to be started again with other ports. They have got a SIGKILL for this already, and
    // need no further signal.
    const bool moving = phase_ == Phase::kMoving;
    say("a signal: each task saves what it has to and leaves; a second one ends the job at once");
    phase_ = Phase::kInterrupted;
    limit_ = now + options_.stop_limit;
    told_to_give_way_ = options_.terminate_means_leave && signal != SIGINT;
    trainers_gave_way_ = told_to_give_way_ && !tasks_[0].runs && !trained_;
    for (size_t i = told_to_give_way_ || moving ? 0 : 1; i < tasks_.size(); ++i) {
      // The failure of a task that waits for its restart must not become the status of the job, which ends on request.
      if (!tasks_[i].runs) tasks_[i].last_status = 0;
    }
    if (!moving) send_all(signal);
  }
  after_an_end(now);
  return take();
}

Actions JobPolicy::time_passed(SteadyTime now) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].start_at && *tasks_[i].start_at <= now) start(i);
  }
  if (next_chaos_ && *next_chaos_ <= now) wreak(now);
  if (next_note_ && *next_note_ <= now) note_evaluation(now);
  if (limit_ && *limit_ <= now) past_the_limit();
  if (evaluation_limit_ && *evaluation_limit_ <= now) {
    evaluation_limit_.reset();
    say("the evaluator has not ended within " + seconds_text(options_.last_evaluation_limit) +
        " of the chief, and is killed" + kTrainedOnly);
    failure_ = exit_status(ErrorKind::kDeadlineExceeded);
    stop_waiting();
    send_all(SIGKILL);
  }
  after_an_end(now);
  return take();
}

std::optional<SteadyTime> JobPolicy::next_time() const {
  std::optional<SteadyTime> next;
  const auto consider = [&next](std::optional<SteadyTime> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  for (const Entry& entry : tasks_) consider(entry.start_at);
  for (const auto& time : {limit_, evaluation_limit_, next_note_, next_chaos_}) consider(time);
  return over_ ? std::nullopt : next;
}

void JobPolicy::start(size_t task) {
  Entry& entry = tasks_[task];
  entry.start_at.reset();
  entry.runs = true;
  actions_.emplace_back(Start{task});
}

void JobPolicy::send_all(int signal, bool evaluator_too) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].runs && (evaluator_too || tasks_[i].task.role != Role::kEvaluator))
      actions_.emplace_back(Send{i, signal});
  }
}

Actions JobPolicy::take() { return std::exchange(actions_, {}); }

/// The chief has ended with 0: the job has succeeded, and later failures cannot change the model.
void JobPolicy::chief_ended(SteadyTime now) {
  trained_ = true;
  next_chaos_.reset();
  if (phase_ != Phase::kTraining) return;
  phase_ = Phase::kFinishing;
  limit_ = now + options_.stop_limit;
  for (Entry& entry : tasks_) {
    // Cancels planned restarts. Only the evaluator is still restarted, since the last evaluation is still to be done.
    if (entry.task.role != Role::kEvaluator) entry.start_at.reset();
    if (entry.task.role == Role::kEvaluator && (entry.runs || entry.start_at)) {
      evaluation_limit_ = now + options_.last_evaluation_limit;
      next_note_ = now + kFirstNote;
    }
  }
}

/// Handles the failure of a task that the job needs.
void JobPolicy::failed(size_t task, const Ending& ending, SteadyTime now) {
  if (const char* reason = permanent(ending)) {
    give_up(task, how_it_ended(ending) + " (" + reason + "), which a restart cannot repair", ending.status, now);
  } else if (tasks_[task].restarts >= options_.max_restarts) {
    give_up(task,
            how_it_ended(ending) + " after " + std::to_string(tasks_[task].restarts) +
                " restarts, the most that are allowed (--max-restarts)",
            ending.exit_status(), now);
  } else {
    retry(task, ending, now);
  }
}

void JobPolicy::retry(size_t task, const Ending& ending, SteadyTime now) {
  Entry& entry = tasks_[task];
  const Duration wait = wait_before_start(entry.restarts);
  ++entry.restarts;
  entry.start_at = now + wait;
  say(entry.task.name + " " + how_it_ended(ending) + "; it is started again in " + seconds_text(wait) + " (restart " +
      std::to_string(entry.restarts) + " of " + std::to_string(options_.max_restarts) + ")");
}

Duration JobPolicy::wait_before_start(int starts_before) const {
  Duration wait = std::min(options_.first_wait, options_.longest_wait);
  for (int i = 0; i < starts_before && wait < options_.longest_wait; ++i) wait = std::min(2 * wait, options_.longest_wait);
  return wait;
}

/// Starts a task again after it saved and ended on a SIGTERM that this launcher did not send. The task is not at fault, so
/// this counts as no restart, however often it happens.
void JobPolicy::start_who_gave_way(size_t task, SteadyTime now) {
  Entry& entry = tasks_[task];
  const Duration wait = wait_before_start(entry.gave_way++);
  entry.start_at = now + wait;
  say(entry.task.name + " gave way to a signal (status " + std::to_string(kGaveWayStatus) + "); it is started again in " +
      seconds_text(wait) + ", which counts as no restart");
}

/// Ends the job as failed because of this task.
void JobPolicy::give_up(size_t task, const std::string& why, int status, SteadyTime now) {
  failure_ = status;
  if (phase_ == Phase::kFinishing) {
    say(tasks_[task].task.name + " " + why + kTrainedOnly);
    return;
  }
  say(tasks_[task].task.name + " " + why + ": the job has failed" +
      (any_runs() ? ", and the other tasks are stopped" : ""));
  phase_ = Phase::kStopping;
  stop_waiting();
  limit_ = now + options_.stop_limit;
  send_all(SIGTERM);
}

/// Starts all tasks again with other ports, because another process has a port of the job. All tasks have to start again,
/// since the description of the cluster changes for each of them.
void JobPolicy::move(size_t task, SteadyTime now) {
  const std::string what = "has ended, since another process listens at its address";
  if (ports_chosen_ >= options_.port_choices) {
    return give_up(task, what + ", with each of " + std::to_string(ports_chosen_) + " choices of ports",
                   exit_status(ErrorKind::kUnavailable), now);
  }
  say(tasks_[task].task.name + " " + what + "; all tasks are started again with other ports, which counts as no restart");
  phase_ = Phase::kMoving;
  stop_waiting();
  for (Entry& entry : tasks_) entry.moves = entry.runs;
  send_all(SIGKILL);  // SIGKILL, since an interrupt would make the chief end the run.
}

void JobPolicy::start_with_other_ports(SteadyTime now) {
  ++ports_chosen_;
  actions_.emplace_back(ChoosePorts{});
  phase_ = Phase::kTraining;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i].done && (!trained_ || tasks_[i].task.role == Role::kEvaluator)) start(i);
  }
  if (trained_) {
    chief_ended(now);
  } else {
    plan_chaos(now);
  }
}

void JobPolicy::after_an_end(SteadyTime now) {
  if (over_) return;
  if (phase_ == Phase::kMoving && !any_runs()) start_with_other_ports(now);
  const bool stops = phase_ == Phase::kStopping || (phase_ == Phase::kInterrupted && !told_to_give_way_);
  const bool deserted = !trained_ && only_servers_run() && stops;
  servers_alone_ |= deserted;
  if (deserted) limit_ = std::min(limit_.value_or(SteadyTime::max()), now + options_.servers_alone);
  if (any_runs() || any_waits()) return;
  switch (phase_) {
    case Phase::kTraining:
    case Phase::kMoving: break;  // Not reached: in kTraining and kMoving some task runs or will run.
    case Phase::kFinishing:
    case Phase::kStopping: over_ = failure_; break;
    case Phase::kInterrupted: over_ = status_of_all(); break;
  }
}

/// Cancels all planned starts and time limits.
void JobPolicy::stop_waiting() {
  for (Entry& entry : tasks_) entry.start_at.reset();
  limit_.reset();
  evaluation_limit_.reset();
  next_note_.reset();
  next_chaos_.reset();
}

void JobPolicy::past_the_limit() {
  limit_.reset();
  const bool waits_for_evaluator = phase_ == Phase::kFinishing;
  std::string names;
  for (const Entry& entry : tasks_) {
    if (!entry.runs || (waits_for_evaluator && entry.task.role == Role::kEvaluator)) continue;
    names += (names.empty() ? "" : ", ") + entry.task.name;
  }
  if (names.empty()) return;
  say((servers_alone_ ? "killed, since no task is left that could end the job: "
                      : "killed, since they have not left within " + seconds_text(options_.stop_limit) + ": ") +
      names);
  send_all(SIGKILL, !waits_for_evaluator);
}

void JobPolicy::note_evaluation(SteadyTime now) {
  next_note_.reset();
  for (const Entry& entry : tasks_) {
    if (entry.task.role != Role::kEvaluator || !(entry.runs || entry.start_at)) continue;
    say("waiting for the evaluator's last evaluation; the model is trained");
    next_note_ = now + kNoteEvery;
  }
}

void JobPolicy::plan_chaos(SteadyTime now) {
  if (draws_) next_chaos_ = now + draws_->pause();
}

void JobPolicy::wreak(SteadyTime now) {
  std::vector<size_t> running;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].runs && !tasks_[i].chaos) running.push_back(i);
  }
  if (!running.empty()) {
    const size_t victim = running[draws_->victim(running.size())];
    tasks_[victim].chaos = true;
    say("chaos: " + tasks_[victim].task.name + " is killed");
    actions_.emplace_back(Send{victim, SIGKILL});
  }
  plan_chaos(now);
}

bool JobPolicy::any_runs() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const Entry& entry) { return entry.runs; });
}
bool JobPolicy::any_waits() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const Entry& entry) { return entry.start_at.has_value(); });
}
bool JobPolicy::only_servers_run() const {
  return any_runs() && std::all_of(tasks_.begin(), tasks_.end(),
                                   [](const Entry& entry) { return !entry.runs || entry.task.role == Role::kServer; });
}

/// The exit status of the job after an interrupt. If tasks ended with a status other than 0, it is the status of the first
/// such task (the chief is task 0). Else it is 143 if tasks saved and ended on a SIGTERM before the job was complete, or
/// else 0.
int JobPolicy::status_of_all() const {
  for (const Entry& entry : tasks_) {
    if (entry.last_status != 0) return entry.last_status;
  }
  return evaluator_gave_way_ || (trainers_gave_way_ && !trained_) ? kGaveWayStatus : 0;
}

}  // namespace shoal::cli::launch
