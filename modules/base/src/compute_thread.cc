// SPDX-License-Identifier: Apache-2.0
#include "compute_thread.h"

#include <algorithm>

#include "guarded.h"
#include "shoal/base/exhaustion.h"
#include "shoal/base/own_thread.h"
#include "shoal/base/start_thread.h"

namespace shoal {

OffloadWaiter::~OffloadWaiter() {
  if (thread_) thread_->remove(*this);
}

void OffloadWaiter::await_suspend(std::coroutine_handle<> handle) {
  Waiter::await_suspend(handle);
  thread_->add(*this);  // The coroutine may resume at once, so nothing follows this line.
}

ComputeThread::~ComputeThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  // The work of these waiters will never run, so the loop must not resume their coroutines.
  for (OffloadWaiter* waiter : waiting_) loop_.disown(*waiter);
  for (OffloadWaiter* waiter : known_) waiter->thread_ = nullptr;
}

void ComputeThread::add(OffloadWaiter& waiter) {
  {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      Result<std::thread> started = start_thread([this] { run(); });
      if (!started) raise_exhausted(std::move(started).error());
      thread_ = std::move(*started);
    }
    known_.push_back(&waiter);
    waiting_.push_back(&waiter);
  }
  changed_.notify_one();
}

void ComputeThread::remove(OffloadWaiter& waiter) {
  std::unique_lock lock(mutex_);
  std::erase(known_, &waiter);
  std::erase(waiting_, &waiter);
  finished_.wait(lock, [&] { return running_ != &waiter; });
}

void ComputeThread::run() {
  begin_own_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    running_ = waiting_.front();
    waiting_.pop_front();
    OffloadWaiter& waiter = *running_;
    lock.unlock();
    waiter.ended_ = run_awaited(*waiter.work_, "offloaded work");
    loop_.wake(waiter);  // `waiter` still exists: remove() waits while running_ points to it.
    lock.lock();
    running_ = nullptr;
    finished_.notify_all();
  }
}

}  // namespace shoal
