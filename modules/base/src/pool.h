// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The threads of one production environment that run independent jobs and share in parallel_for().
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "shoal/base/environment.h"

namespace shoal {

/// Threads start with the first job. Any thread may call anything but the destructor.
class ThreadPool final : public JobPool {
 public:
  using Body = UniqueFunction<void(int64_t, int64_t)>;

  explicit ThreadPool(int threads) : thread_count_(threads) {}
  /// Finishes the jobs that run, drops those that wait.
  ~ThreadPool() override;

  bool submit(Work job) override;
  int threads() const override { return thread_count_; }
  /// Blocks until body ran over all chunks. The caller takes part, so that as many threads work as the pool has, and so
  /// that it ends even if all others are busy. Allocates nothing.
  void parallel_for(int64_t count, int64_t grain, Body& body);

 private:
  struct Region;
  /// Called with the mutex held. Where there is a limit of threads, those that there are do the work; false: there is none.
  bool start_threads();
  void run();
  Region* open_region();  // Called with the mutex held.

  const int thread_count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable region_left_;
  // All guarded by mutex_.
  std::vector<std::thread> threads_;
  bool no_more_threads_ = false;  // The system gave fewer than there should be.
  std::deque<Work> jobs_;
  Region* regions_ = nullptr;  // A list through the stacks of those who wait in parallel_for().
  bool stopping_ = false;
};

}  // namespace shoal
