// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/wait_queue.h"

#include <algorithm>

namespace shoal::transport {

// The coroutine that sleeps until the next deadline. While the coroutine sleeps, the queue owns it, and may destroy it.
// While the coroutine runs, the queue must not destroy it, and may only drop the handle. The coroutine then returns by
// itself, and its frame is freed.
struct WaitQueue::TimerPromise {
  Timer get_return_object();
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept { return {}; }
  void return_void() noexcept {}
  void unhandled_exception() noexcept { std::terminate(); }
};
struct WaitQueue::Timer {
  using promise_type = TimerPromise;
  std::coroutine_handle<> handle;
};
WaitQueue::Timer WaitQueue::TimerPromise::get_return_object() {
  return {std::coroutine_handle<TimerPromise>::from_promise(*this)};
}

WaitQueue::WaitQueue(Environment& env) : env_(env) {}

WaitQueue::~WaitQueue() { stop(); }

void WaitQueue::add(Wait& wait) {
  wait.insert_before(ends_);
  adding_ = &wait;
  if (wait.deadline_ <= env_.now()) {
    end(wait, WaitEnd::kDeadline);
  } else {
    arm(wait.deadline_);
  }
  adding_ = nullptr;
}

void WaitQueue::arm(Deadline deadline) {
  // Sets a timer even for kNoDeadline: if the environment is killed, the timer's sleep fails, and run_timer() ends all
  // waits.
  if (timer_ && timer_at_ <= deadline) return;
  stop();
  timer_at_ = deadline;
  timer_ = run_timer(generation_).handle;
  // While the timer's coroutine runs, stop() must not destroy it.
  const bool was_in_timer = std::exchange(in_timer_, true);
  timer_.resume();
  in_timer_ = was_in_timer;
}

WaitQueue::Timer WaitQueue::run_timer(uint64_t generation) {
  while (true) {
    Result<void> slept = co_await env_.sleep_until(timer_at_);
    const std::shared_ptr<WaitQueue> self = shared_from_this();  // A coroutine that expire() resumes may drop the queue.
    in_timer_ = true;
    if (slept) {
      expire(env_.now());
    } else {
      cancel_all();
    }
    in_timer_ = false;
    if (generation_ != generation) co_return;
    if (!slept || empty() || self.use_count() == 1) {
      timer_ = nullptr;
      co_return;
    }
    timer_at_ = earliest();
  }
}

void WaitQueue::end(Wait& wait, WaitEnd how) {
  wait.unlink();
  wait.how_ = how;
  wait.ended_ = true;
  if (&wait != adding_) wait.waiting_.resume();
}

void WaitQueue::wake_first() {
  if (!empty()) end(*static_cast<Wait*>(ends_.next), WaitEnd::kWoken);
}

void WaitQueue::wake_all() {
  // Coroutines that are woken may wait again at once. So those that wait now are first moved to a second list, which begins
  // at `now`.
  Link now;
  if (empty()) return;
  // Both lists are circular. `now` takes the place of ends_, which is at both ends of the list with all waits. The list of
  // ends_ becomes empty.
  now.insert_before(ends_);
  ends_.unlink();
  while (now.next != &now) end(*static_cast<Wait*>(now.next), WaitEnd::kWoken);
}

void WaitQueue::expire(SteadyTime now) {
  while (true) {
    Link* due = ends_.next;
    while (due != &ends_ && static_cast<Wait*>(due)->deadline_ > now) due = due->next;
    if (due == &ends_) return;
    end(*static_cast<Wait*>(due), WaitEnd::kDeadline);
  }
}

void WaitQueue::cancel_all() {
  while (!empty()) end(*static_cast<Wait*>(ends_.next), WaitEnd::kCancelled);
}

Deadline WaitQueue::earliest() const {
  Deadline earliest = kNoDeadline;
  for (const Link* link = ends_.next; link != &ends_; link = link->next)
    earliest = std::min(earliest, static_cast<const Wait*>(link)->deadline_);
  return earliest;
}

void WaitQueue::stop() {
  ++generation_;
  const auto timer = std::exchange(timer_, nullptr);
  if (timer && !in_timer_) timer.destroy();
}

}  // namespace shoal::transport
