// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The thread pool of one production environment. Its threads run independent jobs and help in parallel_for().
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "shoal/base/environment.h"

namespace shoal {

/// Threads start with the first job. All functions but the destructor may be called from any thread.
class ThreadPool final : public JobPool {
 public:
  using Body = UniqueFunction<void(int64_t, int64_t)>;

  explicit ThreadPool(int threads) : thread_count_(threads) {}
  /// Finishes the jobs that are running and drops those that wait.
  ~ThreadPool() override;

  bool submit(Work job) override;
  int threads() const override { return thread_count_; }
  /// Calls `body` for each chunk and returns when all calls have returned. The calling thread works on chunks, too, so the
  /// call ends even if all of the pool's threads are busy. At most threads() threads work on it. Allocates nothing.
  void parallel_for(int64_t count, int64_t grain, Body& body);

 private:
  struct Region;
  /// Starts the pool's threads, as many as the system allows; false if it allows none. Called with mutex_ locked.
  bool start_threads();
  void run();
  Region* open_region();  // Called with mutex_ locked.

  const int thread_count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable region_left_;
  // mutex_ guards all members below.
  std::vector<std::thread> threads_;
  bool no_more_threads_ = false;  // True once the system has refused a thread.
  std::deque<Work> jobs_;
  Region* regions_ = nullptr;  // A linked list of the running parallel_for() calls.
  bool stopping_ = false;
};

}  // namespace shoal
