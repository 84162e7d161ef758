// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A lock for coroutines of one strand. A parameter server locks its state for each change: long computations run on
/// other threads, so two requests could overlap although the strand runs one coroutine at a time.
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "shoal/base/environment.h"

namespace shoal::cluster {

/// A lock that waiting coroutines get in the order in which they asked. Belongs to one strand.
class FifoLock {
 public:
  /// Like std::lock_guard: the lock is held for as long as this object lives. The FifoLock outlives its guards.
  class Guard {
   public:
    explicit Guard(FifoLock& lock) : lock_(&lock) {}
    Guard(Guard&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (lock_) lock_->release();
    }

   private:
    FifoLock* lock_;
  };

  explicit FifoLock(Environment& env) : changed_(env) {}
  /// Waits for the lock until `deadline` (DeadlineExceeded). After break_off(): the error that it got.
  Task<Result<Guard>> acquire(Deadline deadline);
  /// From now on nobody gets the lock, since its holder has failed by `why`, with the state half changed. Only the first
  /// call has an effect.
  void break_off(Error why);
  /// The error that break_off() got; empty before.
  const std::optional<Error>& broken_off() const { return broken_off_; }
  bool is_locked() const { return !queue_.empty(); }

 private:
  void release();

  std::deque<uint64_t> queue_;  // Tickets in order; the first one holds the lock.
  uint64_t last_ticket_ = 0;
  std::optional<Error> broken_off_;
  Event changed_;
};

}  // namespace shoal::cluster
