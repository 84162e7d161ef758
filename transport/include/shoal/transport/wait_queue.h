// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For those who implement a transport: coroutines that wait, each with a deadline, for something that may come often.
#include <coroutine>
#include <cstdint>
#include <memory>

#include "shoal/base/environment.h"

namespace shoal::transport {

enum class WaitEnd : uint8_t { kWoken, kDeadline, kCancelled };  ///< kCancelled means that the environment was killed.

/// Waits of one strand, in order. Waiting and waking allocate nothing: the waiter lives in the coroutine's frame, and one
/// timer serves all. That timer is lazy: it is armed for the first deadline and, when it fires, moves on to the earliest
/// one that still waits; so a loop of receives with fresh deadlines touches the timer once per timeout, not per message.
/// All members from the strand only (or while it does not run). A frame destroyed while it waits leaves the queue by
/// itself. The last reference may be dropped anywhere once stop() was called.
class WaitQueue : public std::enable_shared_from_this<WaitQueue> {
 public:
  explicit WaitQueue(Environment& env);
  ~WaitQueue();
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  class Wait;
  /// `co_await`able, once. Resumes by wake_*() or at the deadline. Keeps the queue alive.
  Wait wait(Deadline deadline);
  bool empty() const { return ends_.next == &ends_; }
  /// Resumes, inside this call, the one that has waited longest, if any.
  void wake_first();
  /// Resumes, inside this call, everyone who waits now. The caller keeps the queue alive.
  void wake_all();
  /// Ends the timer: from now on deadlines of those who still wait do not pass; whoever owns the queue wakes them.
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
  Link ends_;                      // The ends of the ring of waits.
  Wait* adding_ = nullptr;         // The wait inside add(): it may be ended, but its coroutine is not suspended yet.
  std::coroutine_handle<> timer_;  // The frame that sleeps for all; null if there is none.
  bool in_timer_ = false;          // True while that frame is running: it ends itself when it finds itself replaced.
  Deadline timer_at_ = kNoDeadline;
  uint64_t generation_ = 0;  // Number of the present timer.
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
