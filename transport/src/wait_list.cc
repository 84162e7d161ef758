#include "shoal/transport/wait_list.h"

#include <algorithm>

namespace shoal::transport {

// The list owns this coroutine while it sleeps, and destroys it to end it. While it runs it may be let go of, and then its
// frame ends with it.
struct WaitList::TimerPromise {
  Timer get_return_object();
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept { return {}; }
  void return_void() noexcept {}
  void unhandled_exception() noexcept { std::terminate(); }
};
struct WaitList::Timer {
  using promise_type = TimerPromise;
  std::coroutine_handle<> handle;
};
WaitList::Timer WaitList::TimerPromise::get_return_object() {
  return {std::coroutine_handle<TimerPromise>::from_promise(*this)};
}

WaitList::WaitList(Environment& env) : env_(env) {}

WaitList::~WaitList() { stop(); }

void WaitList::add(Wait& wait) {
  wait.insert_before(ends_);
  adding_ = &wait;
  if (wait.deadline_ <= env_.now()) {
    end(wait, WaitEnd::kDeadline);
  } else {
    arm(wait.deadline_);
  }
  adding_ = nullptr;
}

void WaitList::arm(Deadline deadline) {
  // Without a deadline too: a sleep learns when the environment is killed.
  if (timer_ && timer_at_ <= deadline) return;
  stop();
  timer_at_ = deadline;
  timer_ = run_timer(generation_).handle;
  const bool was_in_timer = std::exchange(in_timer_, true);  // it may end before it sleeps
  timer_.resume();
  in_timer_ = was_in_timer;
}

WaitList::Timer WaitList::run_timer(uint64_t generation) {
  while (true) {
    Result<void> slept = co_await env_.sleep_until(timer_at_);
    const std::shared_ptr<WaitList> self = shared_from_this();  // those who are resumed may drop the list
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

void WaitList::end(Wait& wait, WaitEnd how) {
  wait.unlink();
  wait.how_ = how;
  wait.ended_ = true;
  if (&wait != adding_) wait.waiting_.resume();
}

void WaitList::wake_first() {
  if (!empty()) end(*static_cast<Wait*>(ends_.next), WaitEnd::kWoken);
}

void WaitList::wake_all() {
  // Whoever is woken may wait again at once: only those of now are moved to a ring of their own and woken.
  Link now;
  if (empty()) return;
  now.insert_before(ends_);  // both ends in one ring, then the old end taken out: everyone follows `now`
  ends_.unlink();
  while (now.next != &now) end(*static_cast<Wait*>(now.next), WaitEnd::kWoken);
}

void WaitList::expire(SteadyTime now) {
  while (true) {
    Link* due = ends_.next;
    while (due != &ends_ && static_cast<Wait*>(due)->deadline_ > now) due = due->next;
    if (due == &ends_) return;
    end(*static_cast<Wait*>(due), WaitEnd::kDeadline);
  }
}

void WaitList::cancel_all() {
  while (!empty()) end(*static_cast<Wait*>(ends_.next), WaitEnd::kCancelled);
}

Deadline WaitList::earliest() const {
  Deadline earliest = kNoDeadline;
  for (const Link* link = ends_.next; link != &ends_; link = link->next)
    earliest = std::min(earliest, static_cast<const Wait*>(link)->deadline_);
  return earliest;
}

void WaitList::stop() {
  ++generation_;
  const auto timer = std::exchange(timer_, nullptr);
  if (timer && !in_timer_) timer.destroy();
}

}  // namespace shoal::transport
