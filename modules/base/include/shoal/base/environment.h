// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Everything nondeterministic, behind one interface: clock, timers, the strand, blocking work, transports, storage,
/// randomness, signals. Roles are coroutines written against it. In production it is threads, sockets and files; in
/// tests one thread with virtual time.
///
/// One Environment per task. It has one *strand*: everything posted and every resumed coroutine of the task runs there,
/// one at a time, so role state needs no locks. Blocking work (programs, input functions, hooks, files) never runs on
/// the strand but through offload(), on the task's one compute thread.
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

/// Threads that run independent jobs (dataset stages). Jobs must not wait for other jobs of the same pool.
class JobPool {
 public:
  virtual ~JobPool() = default;
  /// False if the pool is shutting down, or if the system gives it no thread: the job was dropped.
  virtual bool submit(Work job) = 0;
  virtual int threads() const = 0;
};

class Environment {
 public:
  virtual ~Environment() = default;

  virtual SteadyTime now() const = 0;
  virtual WallTime wall_now() const = 0;
  /// Runs `work` on the strand, later. Any thread. Once killed, it is dropped.
  virtual void post(Work work) = 0;
  /// True on the strand (inside post()ed work or a resumed coroutine).
  virtual bool on_strand() const = 0;
  /// Resumes at `when`, or with Cancelled when `stop` stops or this environment is killed.
  virtual Task<Result<void>> sleep_until(SteadyTime when, StopToken stop = {}) = 0;
  /// Runs `work` on the compute thread and resumes on the strand when it is done. Works of one task run one after
  /// another in the order offered. Cancelled without running it, if killed before it began.
  virtual Task<Result<void>> offload(Work work) = 0;
  /// Calls body(begin, end) over [0, count) in chunks of `grain` (the last may be smaller); chunk borders do not depend
  /// on the number of threads. Blocks. Called from the compute thread.
  virtual void parallel_for(int64_t count, int64_t grain, const UniqueFunction<void(int64_t, int64_t)>& body) = 0;
  virtual JobPool& pool() = 0;
  /// The transport of a scheme ("inproc", "shm", "tcp"). NotFound names the schemes this build has.
  virtual Result<transport::Transport*> transport(std::string_view scheme) = 0;
  virtual Storage& storage() = 0;
  virtual BufferPool& buffers() = 0;
  virtual Logger& log() = 0;
  virtual const ProcessInfo& process() const = 0;
  /// Fresh randomness: incarnations, unseeded shuffles. In simulation from the seed.
  virtual uint64_t entropy() = 0;
  /// Stops when the task is asked to end, by SIGINT, SIGTERM or SIGHUP.
  virtual StopToken interrupted() = 0;
  /// Stops when it is asked to give way, and will be started again (CONTRACT FA-12); interrupted() stops just after it.
  virtual StopToken leaving() = 0;
  /// Says that a rare path was taken ("push.repeated"). Simulations count them, to know what they have not tried; programs
  /// do nothing. Strand or compute thread.
  virtual void sometimes(std::string_view) {}

  // These are made of the above.
  SteadyTime after(Duration delay) const { return now() + delay; }
  Task<Result<void>> sleep_for(Duration delay, StopToken stop = {});

  /// Runs `task` on this environment to its end and returns its result; the calling thread becomes the strand meanwhile
  /// (production) or drives virtual time (tests). Not from the strand itself.
  template <class T>
  T run(Task<T> task) {
    run_until_done(task_entry(task));
    return task.take();
  }

 protected:
  /// Posts `entry`'s start and runs the loop until it is done.
  virtual void run_until_done(Task<void> entry) = 0;

 private:
  template <class T>
  static Task<void> task_entry(Task<T>& task);
};

/// Children that end together: a scope for coroutines on one strand. The first child that fails asks the others to stop.
class TaskGroup {
 public:
  /// Children see `stop` (and each other's failure) through token().
  explicit TaskGroup(Environment& env, StopToken stop = {});
  ~TaskGroup();  ///< Every child has ended by now: join() was awaited.
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  StopToken token() const;
  /// Starts `child` at once, on the strand.
  void spawn(Task<Result<void>> child);
  void request_stop();
  /// Waits for all children; the error of the first that failed with anything but Cancelled, else the first error.
  Task<Result<void>> join();
  int64_t running() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Wakes coroutines of one strand that wait for a condition. notify_all() from the strand only.
class Event {
 public:
  explicit Event(Environment& env);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();  ///< Whoever still waits gets Cancelled.
  /// Wakes everyone who waits now, in the order they came.
  void notify_all();
  /// Waits until the next notify_all(), or for DeadlineExceeded ("waiting for `what`"), or Cancelled. Check the
  /// condition in a loop.
  Task<Result<void>> wait(std::string_view what, Deadline deadline, StopToken stop = {});

 private:
  struct Waiter;
  Task<Result<void>> wait_until(std::string what, Deadline deadline, StopToken stop);
  Environment& env_;
  std::vector<std::shared_ptr<Waiter>> waiters_;
};

/// The one door into user code: runs fn() and turns what it throws into an Error that says where; raise() throws the
/// user's own exception unchanged.
template <class Fn>
auto call_user(std::string_view where, Fn&& fn) -> Result<std::invoke_result_t<Fn>>;
Error current_exception_to_error(std::string_view where);

template <class T>
Task<void> Environment::task_entry(Task<T>& task) {
  struct Starter {  // Awaits without moving the result out: run() takes it.
    Task<T>& task;
    bool await_ready() { return false; }
    bool await_suspend(std::coroutine_handle<> self) { return task.start_then(self); }
    void await_resume() {}
  };
  Starter starter{task};  // It has a name for the reason in tests/architecture/check_coroutines.py.
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
