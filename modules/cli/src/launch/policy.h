// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What becomes of a job when its tasks end (CONTRACT FA-9): a state machine without processes and without a clock. It is
/// told what happened and when, and says what is to be done. Whoever carries that out tells it how every task ended.
///
///   training --- the chief ended with 0 ---> finishing: the evaluator evaluates once more, the others leave
///      |  |  |-- somebody else has a port ---> moving: all are killed, and started again with other ports
///      |  |----- a first signal ------------> interrupted: each task saves and leaves by itself; where that is to give
///      |  |                                   way (CONTRACT FA-12), the job ends with 143
///      |-------- a task failed for good ----> stopping: the others are asked to leave, then killed
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/chaos.h"
#include "shoal/base/error.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

enum class Role : uint8_t { kChief, kServer, kWorker, kEvaluator };  // A master is a kChief, too.

struct PolicyTask {
  std::string name;  ///< The task as sentences name it: "worker 1".
  Role role = Role::kWorker;
};

struct PolicyOptions {
  int max_restarts = 5;  ///< Restarts of each task.
  /// The wait before a task's first restart, which doubles with each one up to `longest_wait`.
  Duration first_wait = std::chrono::seconds(1);
  Duration longest_wait = std::chrono::seconds(30);
  /// How long tasks may take to leave: once asked to, and all but the evaluator once the chief has ended.
  Duration stop_limit = std::chrono::seconds(60);
  /// How long servers may stay once a job that failed has no other task left.
  Duration servers_alone = std::chrono::seconds(2);
  Duration last_evaluation_limit = std::chrono::hours(1);
  /// True if a SIGTERM asks tasks to give way: whoever sent it will start the job again.
  bool terminate_means_leave = false;
  int port_choices = 10;         ///< How often ports are chosen.
  std::optional<Chaos> chaos{};  ///< Random kills.
};

/// How a task ended.
struct Ending {
  int status = 0;           ///< The exit status, if no signal ended it.
  int signal = 0;           ///< The signal that killed it; 0: none.
  bool port_taken = false;  ///< True if a process of somebody else listens at its address.
  bool connection_lost = false;  ///< True if it is not known how it ended, on another machine; `status` is not 0 then.
  bool clean() const { return status == 0 && signal == 0; }
  /// True if the task gave way to a signal, and is to be started again.
  bool gave_way() const { return status == kGaveWayStatus && signal == 0; }
  /// The exit status that says it: its own, or 1 for a signal (CONTRACT FA-10: other).
  int exit_status() const { return signal != 0 ? 1 : status; }
};

// What is to be done, in this order.
struct Start {
  size_t task = 0;
  friend bool operator==(const Start&, const Start&) = default;
};
struct Send {  ///< To the task and all that it started.
  size_t task = 0;
  int signal = 0;
  friend bool operator==(const Send&, const Send&) = default;
};
/// All addresses are chosen anew. No task runs.
struct ChoosePorts {
  friend bool operator==(const ChoosePorts&, const ChoosePorts&) = default;
};
struct Say {  ///< A sentence for the user.
  std::string text;
  friend bool operator==(const Say&, const Say&) = default;
};
using Action = std::variant<Start, Send, ChoosePorts, Say>;
using Actions = std::vector<Action>;

/// Where a task is, for people.
struct TaskState {
  bool runs = false;
  bool done = false;                     ///< It ended with 0.
  std::optional<SteadyTime> start_at{};  ///< When it is started again.
};

/// Each call returns what is to be done next. Times never go back.
class JobPolicy {
 public:
  /// The first task is the chief.
  JobPolicy(std::vector<PolicyTask> tasks, const PolicyOptions& options);

  /// Starts all of them. Called once, first.
  Actions begin(SteadyTime now);
  /// A task that was started is gone, with all that it had started.
  Actions ended(size_t task, const Ending& ending, SteadyTime now);
  /// SIGINT or SIGTERM came: the first is passed on; the second ends the job at once, unless it comes within half a second.
  Actions interrupted(int signal, SteadyTime now);
  /// It is at least next_time().
  Actions time_passed(SteadyTime now);

  /// When time_passed() has something to do; nothing: not before something else happens.
  std::optional<SteadyTime> next_time() const;
  /// The job's exit status, once no task runs and none will.
  std::optional<int> status() const { return over_; }
  /// True from the chief's end with 0 on.
  bool trained() const { return trained_; }
  /// True while tasks have been asked to leave, and what they have started may take its time, too.
  bool lets_leave() const { return phase_ == Phase::kInterrupted || phase_ == Phase::kStopping; }
  TaskState state_of(size_t task) const { return {tasks_[task].runs, tasks_[task].done, tasks_[task].start_at}; }
  /// True if the next end of this task is one that chaos has brought about.
  bool killed_by_chaos(size_t task) const { return tasks_[task].chaos; }

 private:
  enum class Phase : uint8_t { kTraining, kFinishing, kMoving, kInterrupted, kStopping };
  struct Entry {
    PolicyTask task;
    bool runs = false;
    bool done = false;                     // It ended with 0.
    bool chaos = false;                    // It was killed on purpose, and has not ended yet.
    int restarts = 0;                      // Those that count.
    int gave_way = 0;                      // How often it gave way though nobody had asked the job to.
    int last_status = 0;                   // How it ended last.
    std::optional<SteadyTime> start_at{};  // Waits until then to be started again.
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
  std::string how(const Ending& ending) const;

  PolicyOptions options_;
  std::vector<Entry> tasks_;
  Phase phase_ = Phase::kTraining;
  Actions actions_;
  bool trained_ = false;
  int failure_ = 0;  // The status of the job, if something failed for good.
  int ports_chosen_ = 1;
  bool told_to_give_way_ = false;
  bool trainers_gave_way_ = false, evaluator_gave_way_ = false;  // After they were told to.
  bool servers_alone_ = false;  // True once servers are left over of a job that ends without a model.
  std::optional<SteadyTime> first_signal_{};
  std::optional<SteadyTime> limit_{};  // Then whoever still runs is killed, but for an evaluator that is waited for.
  std::optional<SteadyTime> evaluation_limit_{};  // Then that one, too.
  std::optional<SteadyTime> next_note_{};         // Then it is said that the evaluator is waited for.
  std::optional<SteadyTime> next_chaos_{};
  std::optional<ChaosDraws> draws_{};
  std::optional<int> over_{};
};

}  // namespace shoal::cli::launch
