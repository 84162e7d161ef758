// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The one thread on which a production environment runs offloaded work, in order.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "loop.h"
#include "shoal/base/result.h"

namespace shoal {

class ComputeThread;

/// One piece of offloaded work; a member of the waiting coroutine's frame. If the frame is destroyed first, the destructor
/// drops work that has not begun and waits for work that has, since the work refers to the frame.
class OffloadWaiter : public Waiter {
 public:
  OffloadWaiter(Loop& loop, ComputeThread& thread, Work& work) : Waiter(loop), thread_(&thread), work_(&work) {}
  ~OffloadWaiter();
  void await_suspend(std::coroutine_handle<> handle);
  Result<void> await_resume() { return std::move(ended_); }

 private:
  friend class ComputeThread;
  ComputeThread* thread_;  // Null once the compute thread has ended.
  Work* work_;
  Result<void> ended_;  // The outcome of the work. Written before the event loop resumes the waiting coroutine.
};

class ComputeThread {
 public:
  explicit ComputeThread(Loop& loop) : loop_(loop) {}
  /// Waits for the work that is running. Work that has not begun is never run, and the coroutines that wait for such work
  /// are never resumed.
  ~ComputeThread();

 private:
  friend class OffloadWaiter;
  void add(OffloadWaiter& waiter);
  void remove(OffloadWaiter& waiter);
  void run();

  Loop& loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable finished_;
  // mutex_ guards all members below.
  std::thread thread_;  // Started when the first work is added.
  std::deque<OffloadWaiter*> waiting_;
  std::vector<OffloadWaiter*> known_;  // All that exist: the work may be waiting, running or done.
  OffloadWaiter* running_ = nullptr;
  bool stopping_ = false;
};

}  // namespace shoal
