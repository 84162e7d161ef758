// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Environment of tests: any number of tasks on one thread, with virtual time. Time passes only when nothing is left
/// to run, by jumping to the next timer; so a test of ten minutes takes milliseconds, and the same seed replays exactly.
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
  TransportTable transports;         ///< All kinds but tcp, which is not possible here.
  Duration offload_duration{};       ///< The virtual time that each offloaded work takes.
  Duration offload_jitter{};         ///< The most that one takes longer, drawn anew for each.
  std::shared_ptr<Storage> storage;  ///< Default: the file system of this machine.
  ProcessInfo process = {};
  std::function<WallTime(SteadyTime)> wall_clock;  ///< Default: some moment of 2023, and as many seconds later.
  /// Asked before each call of storage() that reads or changes what is there: how much longer the work takes that makes it.
  /// May kill the task, which then dies before the call.
  std::function<Duration()> before_storage_call;
};

struct VirtualWorldOptions {
  uint64_t seed = 1;
  /// Which task goes first, where several could, is drawn from the seed. False: the one that asked first.
  bool shuffled = false;
};

/// A program of one task (what its main() does), which may call Environment::run() and waits there while others go on.
class VirtualProgram {
 public:
  virtual ~VirtualProgram() = default;
  virtual bool done() const = 0;
  /// What the program threw, once it is done.
  virtual const Result<void>& outcome() const = 0;
};

class VirtualWorld {
 public:
  using TaskOptions = VirtualTaskOptions;
  explicit VirtualWorld(VirtualWorldOptions options);
  explicit VirtualWorld(uint64_t seed = 1) : VirtualWorld(VirtualWorldOptions{.seed = seed}) {}
  ~VirtualWorld();  ///< Kills what still runs; every program that was started has ended then.

  /// The environment of one task; the world keeps it. Its offload() and pool() run inline.
  Environment& add_task(TaskOptions options = {});
  /// Runs `body` as the program of `task`, from the next run_until() on. One program per task. It has a thread of its own,
  /// which never runs at the same time as anything else of this world.
  std::shared_ptr<const VirtualProgram> start(Environment& task, std::function<void()> body);
  /// The task dies: nothing of it runs any more, its calls return Cancelled, its locks are let go.
  void kill(Environment& task);
  /// Interrupts the task as a signal would that asks it to end.
  void interrupt(Environment& task);
  /// Interrupts it as a signal would that asks it to give way (Environment::leaving).
  void leave(Environment& task);
  /// Stops it as SIGSTOP would, until thaw(), as SIGCONT would: nothing of it runs meanwhile; what was due runs
  /// afterwards.
  void freeze(Environment& task);
  void thaw(Environment& task);
  bool frozen(const Environment& task) const;
  /// Called inside work that `task` has offloaded: that takes so much longer.
  void spend(Environment& task, Duration time);

  SteadyTime now() const;
  /// Runs until nothing can run any more or virtual time would pass `until`. Returns false if work is left.
  bool run_until(SteadyTime until);
  bool run_for(Duration duration);
  /// Runs the next thing, up to `until`; false if there was none.
  bool step(SteadyTime until = SteadyTime::max());

  /// How often each rare path was taken (Environment::sometimes).
  const std::map<std::string, uint64_t, std::less<>>& marks() const;
  /// A hash of all that happened: which task ran, and when. Equal seeds, equal hashes.
  uint64_t trace() const;

  struct State;  // Known to the implementation only.
 private:
  std::shared_ptr<State> state_;
};

}  // namespace shoal
