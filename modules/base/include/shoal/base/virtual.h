// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Environment of tests: any number of tasks on one thread, with virtual time. When nothing is left to run, time jumps
/// to the next timer; so a test of ten minutes takes milliseconds, and the same seed replays exactly.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/base/production.h"

namespace shoal {

struct VirtualTaskOptions {
  std::string task;
  LogSink sink;                      ///< Default: drops lines.
  TransportTable transports;         ///< Any transport but tcp, which needs real sockets.
  Duration offload_duration{};       ///< The virtual time that each offloaded work takes.
  Duration offload_jitter{};         ///< The largest random addition to offload_duration, drawn anew for each work.
  std::shared_ptr<Storage> storage;  ///< Default: the file system of this machine.
  ProcessInfo process = {};
  std::function<WallTime(SteadyTime)> wall_clock;  ///< Default: starts at a moment of 2023 and runs with virtual time.
  /// Called before each call of storage() that reads or changes files. Returns how much virtual time to add to the work
  /// that makes the call. May kill the task, which then dies before the call.
  std::function<Duration()> before_storage_call;
};

struct VirtualWorldOptions {
  uint64_t seed = 1;
  /// True: when several tasks could run, the seed decides which goes first. False: the one that was ready first.
  bool shuffled = false;
};

/// The program of one task (the body of its main()). It may call Environment::run(), and other tasks run while it waits
/// there.
class VirtualProgram {
 public:
  virtual ~VirtualProgram() = default;
  virtual bool done() const = 0;
  /// The exception that the program threw, as an error. Valid once done().
  virtual const Result<void>& outcome() const = 0;
};

class VirtualWorld {
 public:
  using TaskOptions = VirtualTaskOptions;
  explicit VirtualWorld(VirtualWorldOptions options);
  explicit VirtualWorld(uint64_t seed = 1) : VirtualWorld(VirtualWorldOptions{.seed = seed}) {}
  ~VirtualWorld();  ///< Kills all tasks and waits for all programs to end.

  /// Adds a task and returns its environment, which this object owns. Work that the environment's offload() and pool() get
  /// runs on the thread that drives the simulation.
  Environment& add_task(TaskOptions options = {});
  /// Runs `body` as the program of `task`, from the next run_until() on. A task has at most one program. The program has a
  /// thread of its own, which never runs at the same time as anything else of this simulation.
  std::shared_ptr<const VirtualProgram> start(Environment& task, std::function<void()> body);
  /// Kills the task: none of its code runs any more, its calls return Cancelled, its locks are freed.
  void kill(Environment& task);
  /// Has the effect of a signal that asks the task to end.
  void interrupt(Environment& task);
  /// Has the effect of a signal that asks the task to end and be started again later (Environment::leaving).
  void leave(Environment& task);
  /// Stops the task as SIGSTOP would, until thaw(), which acts like SIGCONT. Meanwhile none of its code runs; work that was
  /// due meanwhile runs afterwards.
  void freeze(Environment& task);
  void thaw(Environment& task);
  bool frozen(const Environment& task) const;
  /// Called inside offloaded work of `task`: makes that work take `time` longer.
  void spend(Environment& task, Duration time);

  SteadyTime now() const;
  /// Runs until nothing can run any more or virtual time would pass `until`. Returns false if work is left.
  bool run_until(SteadyTime until);
  bool run_for(Duration duration);
  /// Runs the next piece of work, if one is due up to `until`; false if none is.
  bool step(SteadyTime until = SteadyTime::max());

  /// How often each coverage point (a rare path with a name) was passed (Environment::sometimes).
  const std::map<std::string, uint64_t, std::less<>>& marks() const;
  /// A hash of everything that happened: which task ran, and when. Equal seeds give equal hashes.
  uint64_t trace() const;

  struct State;  // Defined in the implementation.
 private:
  std::shared_ptr<State> state_;
};

}  // namespace shoal
