// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The strand of a production environment. The thread that calls run_until() runs posted work, timers and socket handlers,
/// one at a time.
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "loop_wait.h"
#include "shoal/base/function.h"
#include "shoal/base/time.h"

namespace shoal {

class Loop;

/// A suspended coroutine that the loop may resume; a member of the coroutine's frame. If the frame is destroyed (on the
/// strand, or while the loop does not run), the loop forgets the waiter.
class Waiter {
 public:
  explicit Waiter(Loop& loop) : loop_(&loop) {}
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) { handle_ = handle; }
  void await_resume() const {}

 private:
  friend class Loop;
  Loop* loop_;  // Null once the loop is destroyed.
  std::coroutine_handle<> handle_;
  SteadyTime when_{};
  uint64_t timer_ = 0;   // The number of the waiter's timer; 0: none.
  bool queued_ = false;  // Guarded by the loop's mutex.
};

class Loop {
 public:
  /// `spin`: how long the loop polls for work before it sleeps.
  explicit Loop(Duration spin = Duration::zero()) : spin_(spin), wait_(make_loop_wait()) {}
  ~Loop();

  /// Queues `work`. Callable from any thread.
  void post(Work work);
  /// Queues `waiter` to be resumed once. Callable from any thread.
  void wake(Waiter& waiter);
  /// Resumes `waiter` at `when`. Call this and forget() on the strand, or while the loop does not run.
  void set_timer(Waiter& waiter, SteadyTime when);
  void forget(Waiter& waiter);
  /// Releases a `waiter` that outlives this loop: the waiter is never resumed and does not use the loop again.
  void disown(Waiter& waiter) { waiter.loop_ = nullptr; }

  /// Runs until done() is true. Calls done() after each piece of work.
  void run_until(UniqueFunction<bool()> done);
  bool on_strand() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  /// When the current turn of the loop began. In a turn the loop runs the timers and the posted work that were ready at its
  /// start. Call it on the strand only.
  SteadyTime turn_began() const { return turn_began_; }
  boost::asio::io_context* context() { return wait_->context(); }

  static SteadyTime now() { return SteadyTime(std::chrono::steady_clock::now().time_since_epoch()); }

 private:
  struct Item {
    Work work;
    Waiter* waiter = nullptr;
  };
  struct Timer {
    SteadyTime when;
    uint64_t number;
    Waiter* waiter;
  };
  using Done = UniqueFunction<bool()>;
  void run_turns(Done& done);
  bool run_timers(Done& done);  // Returns whether any timer was due.
  bool run_queue(Done& done);
  bool spin();  // Polls for at most spin_. Returns whether there is work.
  void sleep();

  const Duration spin_;
  std::unique_ptr<LoopWait> wait_;
  std::atomic<std::thread::id> thread_{};
  SteadyTime turn_began_{};
  std::vector<Timer> timers_;  // In descending order: the earliest is last; of equal times, the one set first is last.
  uint64_t next_timer_ = 1;
  // Work taken from queue_; the work before batch_next_ has run. If run_until() returns early, its next call runs the rest.
  std::vector<Item> batch_;
  size_t batch_next_ = 0;

  std::mutex mutex_;
  std::vector<Item> queue_;          // Guarded by mutex_.
  std::atomic<bool> queued_{false};  // True if queue_ is not empty. Changed together with queue_.
  bool asleep_ = false;              // True while the loop sleeps: new work must wake it. Guarded by mutex_.
};

}  // namespace shoal
