// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <algorithm>
#include <atomic>

#include "guarded.h"
#include "shoal/base/own_thread.h"
#include "shoal/base/start_thread.h"

namespace shoal {

/// One parallel_for() in progress. It lives on its caller's stack until all helping threads have left it.
struct ThreadPool::Region {
  Body& body;
  const int64_t count;
  const int64_t grain;
  std::atomic<int64_t> next_chunk{0};
  // The pool's mutex guards all members below.
  int helpers = 0;
  int helpers_wanted = 0;
  Region* next = nullptr;

  int64_t chunks() const { return (count - 1) / grain + 1; }
  void run_chunks() noexcept {
    for (;;) {
      const int64_t chunk = next_chunk.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks()) return;
      const int64_t begin = chunk * grain;
      body(begin, begin + std::min(grain, count - begin));
    }
  }
};

ThreadPool::~ThreadPool() {
  std::deque<Work> dropped;
  {
    std::lock_guard lock(mutex_);
    SHOAL_CHECK(regions_ == nullptr);
    stopping_ = true;
    dropped.swap(jobs_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool ThreadPool::submit(Work job) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || !start_threads()) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

bool ThreadPool::start_threads() {
  if (!threads_.empty() || no_more_threads_) return !threads_.empty();
  threads_.reserve(size_t(thread_count_));
  for (int i = 0; i < thread_count_ && !no_more_threads_; ++i) {
    Result<std::thread> thread = start_thread([this] { run(); });
    no_more_threads_ = !thread;
    if (thread) threads_.push_back(std::move(*thread));
  }
  return !threads_.empty();
}

ThreadPool::Region* ThreadPool::open_region() {
  for (Region* region = regions_; region; region = region->next) {
    if (region->helpers_wanted > 0) return region;
  }
  return nullptr;
}

void ThreadPool::run() {
  begin_own_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    Region* region = nullptr;
    // Chunks of a parallel_for() come before jobs, since its caller is blocked until all chunks are done.
    changed_.wait(lock, [&] { return (region = open_region()) || !jobs_.empty() || stopping_; });
    if (region) {
      --region->helpers_wanted;
      ++region->helpers;
      lock.unlock();
      region->run_chunks();
      lock.lock();
      if (--region->helpers == 0) region_left_.notify_all();
    } else if (!jobs_.empty()) {
      Work job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      run_guarded(job, "a job of the pool");
      job = Work();  // Destroys what the job has captured now, while the lock is not held.
      lock.lock();
    } else {
      return;
    }
  }
}

void ThreadPool::parallel_for(int64_t count, int64_t grain, Body& body) {
  SHOAL_CHECK(grain >= 1);
  if (count <= 0) return;
  Region region{body, count, grain};
  const int helpers = int(std::min<int64_t>(thread_count_ - 1, region.chunks() - 1));
  if (helpers == 0) return region.run_chunks();
  {
    std::lock_guard lock(mutex_);
    start_threads();
    region.helpers_wanted = helpers;
    region.next = std::exchange(regions_, &region);
  }
  changed_.notify_all();
  region.run_chunks();

  std::unique_lock lock(mutex_);
  Region** link = &regions_;
  while (*link != &region) link = &(*link)->next;
  *link = region.next;
  region_left_.wait(lock, [&] { return region.helpers == 0; });
}

}  // namespace shoal
