// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

#include <algorithm>

#include "guarded.h"
#include "shoal/base/check.h"
#include "shoal/base/cpu.h"

namespace shoal {

Waiter::~Waiter() {
  if (loop_) loop_->forget(*this);
}

Loop::~Loop() {
  SHOAL_CHECK(thread_.load() == std::thread::id());
  for (const Timer& timer : timers_) timer.waiter->loop_ = nullptr;
  // Clearing timers_, batch_ and queue_ below may destroy coroutines. The destructors of their waiters would search these
  // lists (Loop::forget()) while they are being cleared, so the waiters lose their pointer to the loop first.
  for (std::vector<Item>* items : {&batch_, &queue_}) {
    for (Item& item : *items) {
      if (item.waiter) item.waiter->loop_ = nullptr;
    }
  }
  timers_.clear();
  std::exchange(batch_, {});
  std::exchange(queue_, {});
}

void Loop::post(Work work) {
  bool asleep = false;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({std::move(work), nullptr});
    queued_.store(true, std::memory_order_relaxed);
    asleep = std::exchange(asleep_, false);
  }
  if (asleep) wait_->wake();
}

void Loop::wake(Waiter& waiter) {
  bool asleep = false;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(waiter.queued_, true)) return;
    queue_.push_back({Work(), &waiter});
    queued_.store(true, std::memory_order_relaxed);
    asleep = std::exchange(asleep_, false);
  }
  // The waiter may be destroyed by now, so only the loop is used.
  if (asleep) wait_->wake();
}

void Loop::set_timer(Waiter& waiter, SteadyTime when) {
  SHOAL_CHECK(waiter.timer_ == 0);
  waiter.when_ = when;
  waiter.timer_ = next_timer_++;
  const auto later = [](const Timer& timer, SteadyTime time) { return timer.when > time; };
  const auto place = std::lower_bound(timers_.begin(), timers_.end(), when, later);
  timers_.insert(place, {when, waiter.timer_, &waiter});
}

void Loop::forget(Waiter& waiter) {
  if (waiter.timer_ != 0) {
    const auto later = [](const Timer& timer, SteadyTime time) { return timer.when > time; };
    auto place = std::lower_bound(timers_.begin(), timers_.end(), waiter.when_, later);
    while (place->waiter != &waiter) ++place;
    timers_.erase(place);
    waiter.timer_ = 0;
  }
  std::lock_guard lock(mutex_);
  if (!std::exchange(waiter.queued_, false)) return;
  for (std::vector<Item>* items : {&batch_, &queue_}) {
    for (Item& item : *items) {
      if (item.waiter == &waiter) item.waiter = nullptr;
    }
  }
}

void Loop::run_until(UniqueFunction<bool()> done) {
  // The check fails unless thread_ was empty, that is, if run_until() is running already: on another thread, or as a caller
  // of this call.
  std::thread::id nobody{};
  SHOAL_CHECK(thread_.compare_exchange_strong(nobody, std::this_thread::get_id()));
  run_turns(done);
  thread_.store(std::thread::id());
}

void Loop::run_turns(Done& done) {
  while (!done()) {
    turn_began_ = now();
    bool busy = run_timers(done);
    if (done()) return;
    busy |= run_queue(done);
    if (done()) return;
    busy |= wait_->poll();
    if (!busy && !spin()) sleep();
  }
}

bool Loop::run_timers(Done& done) {
  bool ran = false;
  while (!timers_.empty() && timers_.back().when <= turn_began_ && !(ran && done())) {
    Waiter& waiter = *timers_.back().waiter;
    timers_.pop_back();
    waiter.timer_ = 0;
    ran = true;
    waiter.handle_.resume();
  }
  return ran;
}

bool Loop::run_queue(Done& done) {
  if (batch_next_ == batch_.size()) {
    batch_.clear();
    batch_next_ = 0;
    std::lock_guard lock(mutex_);
    batch_.swap(queue_);
    queued_.store(false, std::memory_order_relaxed);
  }
  bool ran = false;
  while (batch_next_ < batch_.size() && !(ran && done())) {
    Item& item = batch_[batch_next_++];  // The reference stays valid: items that are posted now go into queue_.
    ran = true;
    if (item.waiter) {
      std::coroutine_handle<> handle;
      {
        std::lock_guard lock(mutex_);
        Waiter& waiter = *std::exchange(item.waiter, nullptr);
        waiter.queued_ = false;
        handle = waiter.handle_;
      }
      handle.resume();
    } else if (item.work) {
      Work work = std::move(item.work);
      run_guarded(work, "posted work");
    }
  }
  return ran;
}

bool Loop::spin() {
  if (spin_ <= Duration::zero()) return false;
  // How often queued_ is checked before sockets and timers are polled once. A check costs one load; a poll costs some
  // hundred nanoseconds.
  constexpr int kLooksPerPoll = 32;
  const SteadyTime end = now() + spin_;
  do {
    for (int look = 0; look < kLooksPerPoll; ++look) {
      if (queued_.load(std::memory_order_relaxed)) return true;
      relax_cpu();
    }
    if (wait_->poll()) return true;
    if (!timers_.empty() && timers_.back().when <= now()) return true;
  } while (now() < end);
  return false;
}

void Loop::sleep() {
  {
    std::lock_guard lock(mutex_);
    if (!queue_.empty()) return;
    asleep_ = true;
  }
  wait_->wait_until(timers_.empty() ? kNoDeadline : timers_.back().when);
  std::lock_guard lock(mutex_);
  asleep_ = false;
}

}  // namespace shoal
