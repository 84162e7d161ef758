// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For implementers of a transport: a queue of coroutines that wait, each with a deadline, for something that happens
/// often.
#include <coroutine>
#include <cstdint>
#include <memory>

#include "shoal/base/environment.h"

namespace shoal::transport {

enum class WaitEnd : uint8_t { kWoken, kDeadline, kCancelled };  ///< kCancelled means that the environment was killed.

/// The waiting coroutines of one strand, in the order in which they began to wait. Waiting and waking allocate nothing: the
/// entry of a coroutine lies in its frame, and one timer serves all. The timer is set for the first deadline. When it
/// fires, it is set again for the earliest deadline that is still awaited. So a loop of receives with new deadlines changes
/// the timer once per timeout, not once per message. Use all members on the strand only (or while it does not run). If a
/// frame is destroyed while its coroutine waits, the entry is removed. After stop(), the last reference to the queue may be
/// dropped on any thread.
class WaitQueue : public std::enable_shared_from_this<WaitQueue> {
 public:
  explicit WaitQueue(Environment& env);
  ~WaitQueue();
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  class Wait;
  /// Returns an object to co_await once. wake_*() or the deadline ends the wait. The object keeps the queue alive.
  Wait wait(Deadline deadline);
  bool empty() const { return ends_.next == &ends_; }
  /// Resumes, inside of this call, the coroutine that has waited longest, if there is one.
  void wake_first();
  /// Resumes, inside of this call, all coroutines that wait now. The caller keeps the queue alive.
  void wake_all();
  /// Ends the timer: deadlines have no effect from now on, and the owner of the queue has to wake the coroutines that still
  /// wait.
  void stop();

 private:
  struct Link {
    Link* previous = this;
    Link* next = this;
    void insert_before(Link& other) {
      previous = other.previous;
      next = &other;
      previous->next = this;
      other.previous = this;
    }
    void unlink() {
      previous->next = next;
      next->previous = previous;
      previous = next = this;
    }
  };
  struct Timer;
  struct TimerPromise;

  void add(Wait& wait);
  void arm(Deadline deadline);
  void end(Wait& wait, WaitEnd how);
  void expire(SteadyTime now);
  void cancel_all();
  Deadline earliest() const;
  Timer run_timer(uint64_t generation);

  Environment& env_;
  Link ends_;                      // The sentinel of the circular list of waits.
  Wait* adding_ = nullptr;         // The wait that add() is adding: its coroutine still runs, so it must not be resumed.
  std::coroutine_handle<> timer_;  // The coroutine that sleeps until the next deadline; null: none.
  bool in_timer_ = false;          // True while the coroutine timer_ runs: stop() then lets it end by itself.
  Deadline timer_at_ = kNoDeadline;
  uint64_t generation_ = 0;  // Counts the timers, so that a replaced timer notices and ends.
};

class WaitQueue::Wait : private WaitQueue::Link {
 public:
  Wait(std::shared_ptr<WaitQueue> queue, Deadline deadline) : queue_(std::move(queue)), deadline_(deadline) {}
  ~Wait() { unlink(); }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    queue_->add(*this);
    return !ended_;
  }
  WaitEnd await_resume() { return how_; }

 private:
  friend class WaitQueue;
  std::shared_ptr<WaitQueue> queue_;
  Deadline deadline_;
  std::coroutine_handle<> waiting_;
  bool ended_ = false;
  WaitEnd how_ = WaitEnd::kWoken;
};

inline WaitQueue::Wait WaitQueue::wait(Deadline deadline) { return Wait(shared_from_this(), deadline); }

}  // namespace shoal::transport
