// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Environment: one interface for everything nondeterministic, namely clock, timers, the strand, blocking work,
/// transports, storage, randomness and signals. Roles (chief, worker, parameter server, evaluator) are coroutines that use
/// nothing else. The production environment uses threads, sockets and files; the one for tests uses one thread and virtual
/// time.
///
/// Each task has one Environment, and each Environment has one *strand*: posted work and resumed coroutines of the task run
/// there, one at a time, so the state of a role needs no locks. Blocking work (programs, input functions, hooks, files)
/// never runs on the strand: offload() sends it to the task's one compute thread.
#include <coroutine>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/function.h"
#include "shoal/base/log.h"
#include "shoal/base/process_info.h"
#include "shoal/base/result.h"
#include "shoal/base/stop.h"
#include "shoal/base/storage.h"
#include "shoal/base/task.h"
#include "shoal/base/time.h"

namespace shoal {

namespace transport {
class Transport;
}

/// Threads that run independent jobs (stages of datasets). A job must not wait for another job of the same pool.
class JobPool {
 public:
  virtual ~JobPool() = default;
  /// Returns false, and drops the job, if the pool is shutting down or the system refuses a thread.
  virtual bool submit(Work job) = 0;
  virtual int threads() const = 0;
};

class Environment {
 public:
  virtual ~Environment() = default;

  virtual SteadyTime now() const = 0;
  virtual WallTime wall_now() const = 0;
  /// Queues `work` to run on the strand. Callable from any thread. Drops `work` once the environment is killed.
  virtual void post(Work work) = 0;
  /// True if the caller runs on the strand (inside posted work or a resumed coroutine).
  virtual bool on_strand() const = 0;
  /// Resumes at `when`. Returns Cancelled if `stop` stops or this environment is killed before.
  virtual Task<Result<void>> sleep_until(SteadyTime when, StopToken stop = {}) = 0;
  /// Runs `work` on the compute thread and resumes on the strand when it is done. The works of one task run one after
  /// another, in the order of the calls. Returns Cancelled, without running `work`, if the task was killed before it began.
  /// If `work` raises an error, returns that error.
  virtual Task<Result<void>> offload(Work work) = 0;
  /// Calls body(begin, end) over [0, count) in chunks of `grain` (the last may be smaller), and blocks until all have
  /// returned. The chunks do not depend on the number of threads. Called from the compute thread.
  virtual void parallel_for(int64_t count, int64_t grain, const UniqueFunction<void(int64_t, int64_t)>& body) = 0;
  virtual JobPool& pool() = 0;
  /// Returns the transport of a scheme ("inproc", "shm", "tcp"). NotFound lists the schemes that this build has.
  virtual Result<transport::Transport*> transport(std::string_view scheme) = 0;
  virtual Storage& storage() = 0;
  virtual BufferPool& buffers() = 0;
  virtual Logger& log() = 0;
  virtual const ProcessInfo& process() const = 0;
  /// A fresh random number: for ids of processes, and for shuffles without a seed. In simulations it follows from the seed.
  virtual uint64_t entropy() = 0;
  /// Returns a token that is stopped when SIGINT, SIGTERM or SIGHUP asks the task to end.
  virtual StopToken interrupted() = 0;
  /// Returns a token that is stopped when the task is asked to end early, after which a launcher starts it again. The token
  /// of interrupted() is stopped right after this one.
  virtual StopToken leaving() = 0;
  /// Counts a coverage point: the rare path with this name ("push.repeated") was taken. Simulations count these, to find
  /// the paths that they have not tried; in production the call does nothing. Callable on the strand and on the compute
  /// thread.
  virtual void sometimes(std::string_view) {}

  // The functions below call only the virtual functions above.
  SteadyTime after(Duration delay) const { return now() + delay; }
  Task<Result<void>> sleep_for(Duration delay, StopToken stop = {});

  /// Runs `task` on this environment to its end and returns its result. Meanwhile the calling thread is the strand
  /// (production) or drives virtual time (tests). Never call this function on the strand.
  template <class T>
  T run(Task<T> task) {
    run_until_done(task_entry(task));
    return task.take();
  }

 protected:
  /// Posts the start of `entry` and runs the loop until `entry` is done.
  virtual void run_until_done(Task<void> entry) = 0;

 private:
  template <class T>
  static Task<void> task_entry(Task<T>& task);
};

/// A scope for coroutines on one strand. The first child that fails asks the others to stop.
class TaskGroup {
 public:
  /// token(), which is for the children, is stopped when `stop` is stopped and when a child fails.
  explicit TaskGroup(Environment& env, StopToken stop = {});
  ~TaskGroup();  ///< Requires that every child has ended: await join() first.
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  StopToken token() const;
  /// Starts `child` at once, on the strand.
  void spawn(Task<Result<void>> child);
  void request_stop();
  /// Waits for all children. Returns the error of the child that first failed with anything but Cancelled, else the first
  /// error.
  Task<Result<void>> join();
  int64_t running() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Wakes coroutines of one strand that wait for a condition. Call notify_all() on the strand only.
class Event {
 public:
  explicit Event(Environment& env);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();  ///< Coroutines that still wait get Cancelled.
  /// Wakes all coroutines that wait now, in the order in which they began to wait.
  void notify_all();
  /// Waits until the next notify_all(); returns DeadlineExceeded ("waiting for `what`") after `deadline`, and Cancelled
  /// after `stop`. Callers check their condition in a loop.
  Task<Result<void>> wait(std::string_view what, Deadline deadline, StopToken stop = {});

 private:
  struct Waiter;
  Task<Result<void>> wait_until(std::string what, Deadline deadline, StopToken stop);
  Environment& env_;
  std::vector<std::shared_ptr<Waiter>> waiters_;
};

/// Calls the user's function `fn` and turns an exception into an Error that names `where`. Shoal calls user code through
/// this function only. raise() later throws the user's own exception unchanged.
template <class Fn>
auto call_user(std::string_view where, Fn&& fn) -> Result<std::invoke_result_t<Fn>>;
Error current_exception_to_error(std::string_view where);

template <class T>
Task<void> Environment::task_entry(Task<T>& task) {
  struct Starter {  // Awaits the task without moving its result out, since run() takes the result.
    Task<T>& task;
    bool await_ready() { return false; }
    bool await_suspend(std::coroutine_handle<> self) { return task.start_then(self); }
    void await_resume() {}
  };
  Starter starter{task};  // check_coroutines.py refuses an unnamed temporary in co_await.
  co_await starter;
}

template <class Fn>
auto call_user(std::string_view where, Fn&& fn) -> Result<std::invoke_result_t<Fn>> {
#if defined(__cpp_exceptions)
  try {
#endif
    if constexpr (std::is_void_v<std::invoke_result_t<Fn>>) {
      fn();
      return {};
    } else {
      return fn();
    }
#if defined(__cpp_exceptions)
  } catch (...) {
    return current_exception_to_error(where);
  }
#endif
}

}  // namespace shoal
