// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The strand of a production environment: posted work, timers and socket handlers, one at a time, on the thread that
/// calls run_until().
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

/// A suspended coroutine that the loop may resume; a member of its frame. When the frame is destroyed (on the strand, or
/// while the loop does not run), the loop forgets it.
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
  Loop* loop_;  // Null once the loop is gone.
  std::coroutine_handle<> handle_;
  SteadyTime when_{};
  uint64_t timer_ = 0;   // The number of its timer, 0 if it has none.
  bool queued_ = false;  // Guarded by the loop's mutex.
};

class Loop {
 public:
  /// A loop with nothing to do looks for work for `spin` before it sleeps.
  explicit Loop(Duration spin = Duration::zero()) : spin_(spin), wait_(make_loop_wait()) {}
  ~Loop();

  /// Any thread.
  void post(Work work);
  /// Queues `waiter` to be resumed, once. Any thread.
  void wake(Waiter& waiter);
  /// Resumes `waiter` at `when`. On the strand, or while the loop does not run; so is forget().
  void set_timer(Waiter& waiter, SteadyTime when);
  void forget(Waiter& waiter);
  /// `waiter` outlives this loop: it will never be resumed, and does not look back here.
  void disown(Waiter& waiter) { waiter.loop_ = nullptr; }

  /// Runs until done(), asked after each thing that ran.
  void run_until(UniqueFunction<bool()> done);
  bool on_strand() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  /// When the present turn began: all that was ready then has run since or is running. Strand only.
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
  bool run_timers(Done& done);  // Returns whether any ran.
  bool run_queue(Done& done);
  bool spin();  // Returns whether there is something to do.
  void sleep();

  const Duration spin_;
  std::unique_ptr<LoopWait> wait_;
  std::atomic<std::thread::id> thread_{};
  SteadyTime turn_began_{};
  std::vector<Timer> timers_;  // The earliest is last; of equal times, the first set is last.
  uint64_t next_timer_ = 1;
  // Taken from queue_, and run from batch_next_ on. What one run_until() leaves, the next one runs.
  std::vector<Item> batch_;
  size_t batch_next_ = 0;

  std::mutex mutex_;
  std::vector<Item> queue_;          // Guarded by mutex_.
  std::atomic<bool> queued_{false};  // True if queue_ is not empty. Changed with it.
  bool asleep_ = false;              // True if a push must wake the loop. Guarded by mutex_.
};

}  // namespace shoal
