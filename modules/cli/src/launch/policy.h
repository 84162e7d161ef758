// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides what a job does when its tasks end: which task is started again, and when the job has succeeded or failed. A
/// state machine without processes and without a clock: callers tell it what happened and when, carry out the actions that
/// it returns, and tell it how every task ended.
///
///   training --- the chief ended with 0 ---> finishing: the evaluator evaluates once more, the others end
///      |  |  |-- a port is taken -----------> moving: all tasks are killed, and started again with other ports
///      |  |----- a first signal ------------> interrupted: each task saves its work and ends; a task that expects to
///      |  |                                   be started again later ends with status 143
///      |-------- a task failed for good ----> stopping: the others are asked to end, then killed
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/chaos.h"
#include "shoal/base/error.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

enum class Role : uint8_t { kChief, kServer, kWorker, kEvaluator };  // A master has the role kChief.

struct PolicyTask {
  std::string name;  ///< The name of the task in messages: "worker 1".
  Role role = Role::kWorker;
};

struct PolicyOptions {
  int max_restarts = 5;  ///< The most restarts of each task.
  /// The wait before a task's first restart. It doubles with each restart, up to `longest_wait`.
  Duration first_wait = std::chrono::seconds(1);
  Duration longest_wait = std::chrono::seconds(30);
  /// How long tasks may take to end after a signal has asked them to. Also how long they may still run after the chief has
  /// ended with success (for the evaluator see `last_evaluation_limit`).
  Duration stop_limit = std::chrono::seconds(60);
  /// How long servers may still run if the job has failed and no other task runs any more.
  Duration servers_alone = std::chrono::seconds(2);
  Duration last_evaluation_limit = std::chrono::hours(1);
  /// True if a SIGTERM asks tasks to give way: to save and end with status 143, since the sender will start the job again.
  bool terminate_means_leave = false;
  int port_choices = 10;         ///< How many times at most a job chooses its ports. If one is taken, it chooses new ones.
  std::optional<Chaos> chaos{};  ///< Random kills.
};

/// How a task ended.
struct Ending {
  int status = 0;           ///< The exit status of the task, if no signal killed it.
  int signal = 0;           ///< The signal that killed the task; 0: none.
  bool port_taken = false;  ///< A process that is not part of the job listens at the task's address.
  /// The connection to the task's machine was lost, so the task's end is unknown; `status` is not 0 then.
  bool connection_lost = false;
  /// The task had said that it trains, serves or evaluates, so it had begun its work.
  bool was_at_work = false;
  bool clean() const { return status == 0 && signal == 0; }
  /// True if the task saved and ended on a SIGTERM (status 143), and is to be started again.
  bool gave_way() const { return status == kGaveWayStatus && signal == 0; }
  /// The exit status for the job: the task's own, or 1 for a signal.
  int exit_status() const { return signal != 0 ? 1 : status; }
};
/// Returns how a process ended, in words behind its name: "was ended by signal 9 (Killed)", "ended with status 3".
std::string how_it_ended(const Ending& ending);

// The actions that JobPolicy returns. Callers carry them out in the order of the list.
struct Start {
  size_t task = 0;
  friend bool operator==(const Start&, const Start&) = default;
};
struct Send {  ///< Sends a signal to the task and to everything that the task started.
  size_t task = 0;
  int signal = 0;
  friend bool operator==(const Send&, const Send&) = default;
};
/// Chooses all addresses anew, while no task runs.
struct ChoosePorts {
  friend bool operator==(const ChoosePorts&, const ChoosePorts&) = default;
};
struct Say {  ///< Shows a sentence to the user.
  std::string text;
  friend bool operator==(const Say&, const Say&) = default;
};
using Action = std::variant<Start, Send, ChoosePorts, Say>;
using Actions = std::vector<Action>;

/// The state of a task, for display.
struct TaskState {
  bool runs = false;
  bool done = false;                     ///< True if the task ended with exit status 0.
  std::optional<SteadyTime> start_at{};  ///< The time of the next start.
};

/// Decides what a job does next. Each call returns the actions to do. Callers must pass times that never go back.
class JobPolicy {
 public:
  /// The first element of `tasks` has to be the chief.
  JobPolicy(std::vector<PolicyTask> tasks, const PolicyOptions& options);

  /// Starts all tasks. Call it once, first.
  Actions begin(SteadyTime now);
  /// Reports that a task has ended, and that no process that it started is left.
  Actions ended(size_t task, const Ending& ending, SteadyTime now);
  /// Reports a SIGINT or SIGTERM. The first is sent on to the tasks. A second ends the job at once, but one within half a
  /// second of the first is ignored.
  Actions interrupted(int signal, SteadyTime now);
  /// Call it in place of begin() if a SIGINT or SIGTERM came before: the job is over, and no task was started.
  Actions interrupted_before_begin(int signal);
  /// Call it when the time that next_time() returned has come.
  Actions time_passed(SteadyTime now);

  /// The next time at which time_passed() should be called; nothing if no time limit is set at the moment.
  std::optional<SteadyTime> next_time() const;
  /// The job's exit status; nothing as long as a task runs or is to be started.
  std::optional<int> status() const { return over_; }
  /// True once the chief has ended with status 0.
  bool trained() const { return trained_; }
  /// True while tasks save and end because they were asked to, which takes time. While this is true, the launcher does
  /// not kill child processes that outlive the program of their task.
  bool lets_leave() const { return phase_ == Phase::kInterrupted || phase_ == Phase::kStopping; }
  TaskState state_of(size_t task) const { return {tasks_[task].runs, tasks_[task].done, tasks_[task].start_at}; }
  /// True if --chaos has killed the task, and ended() has not reported its end yet.
  bool killed_by_chaos(size_t task) const { return tasks_[task].chaos; }

 private:
  enum class Phase : uint8_t { kTraining, kFinishing, kMoving, kInterrupted, kStopping };
  struct Entry {
    PolicyTask task;
    bool runs = false;
    bool done = false;                     // True if the task ended with exit status 0.
    bool chaos = false;                    // --chaos has killed the task, and its end was not reported yet.
    bool moves = false;                    // The same for a task that was killed to be started with other ports.
    int restarts = 0;                      // Restarts after failures, which max_restarts limits.
    int gave_way = 0;                      // How often the task saved and ended on another program's SIGTERM.
    int last_status = 0;                   // The exit status of the task's last process.
    std::optional<SteadyTime> start_at{};  // The time of the next start.
  };

  void start(size_t task);
  void send_all(int signal, bool evaluator_too = true);
  void say(std::string text) { actions_.emplace_back(Say{std::move(text)}); }
  Actions take();

  void chief_ended(SteadyTime now);
  void failed(size_t task, const Ending& ending, SteadyTime now);
  void retry(size_t task, const Ending& ending, SteadyTime now);
  void start_who_gave_way(size_t task, SteadyTime now);
  Duration wait_before_start(int starts_before) const;
  void give_up(size_t task, const std::string& why, int status, SteadyTime now);
  void move(size_t task, SteadyTime now);
  void ended_when_told(size_t task, const Ending& ending, bool by_launcher);
  void ended_while_training(size_t task, const Ending& ending, bool chaos, SteadyTime now);
  void ended_while_finishing(size_t task, const Ending& ending, bool chaos, SteadyTime now);
  void after_an_end(SteadyTime now);
  void start_with_other_ports(SteadyTime now);
  void stop_waiting();
  void past_the_limit();
  void note_evaluation(SteadyTime now);
  void plan_chaos(SteadyTime now);
  void wreak(SteadyTime now);

  bool any_runs() const;
  bool any_waits() const;
  bool only_servers_run() const;
  int status_of_all() const;

  PolicyOptions options_;
  std::vector<Entry> tasks_;
  Phase phase_ = Phase::kTraining;
  Actions actions_;
  bool trained_ = false;
  int failure_ = 0;  // The exit status of a job that does not succeed.
  int ports_chosen_ = 1;
  bool told_to_give_way_ = false;
  // True once trainers (the evaluator) have saved their state and ended on a SIGTERM, to be started again.
  bool trainers_gave_way_ = false, evaluator_gave_way_ = false;
  bool servers_alone_ = false;  // True once only servers still run and the job ends without a trained model.
  std::optional<SteadyTime> first_signal_{};
  // At this time all tasks that still run are killed, except an evaluator for whose last evaluation the job waits.
  std::optional<SteadyTime> limit_{};
  std::optional<SteadyTime> evaluation_limit_{};  // When the evaluator, for whose last evaluation the job waits, is killed.
  std::optional<SteadyTime> next_note_{};         // The time of the next line about the wait for the evaluator.
  std::optional<SteadyTime> next_chaos_{};
  std::optional<ChaosDraws> draws_{};
  std::optional<int> over_{};
};

}  // namespace shoal::cli::launch
