// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics that one thread updates while others read them, without locks: the parts of TaskMeters.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "shoal/base/time.h"

namespace shoal::monitor {

/// A count that only grows.
class Counter {
 public:
  void add(uint64_t more) { count_.fetch_add(more, std::memory_order_relaxed); }
  uint64_t value() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_{0};
};

/// A time that only grows, counted in nanoseconds.
class TimeCounter {
 public:
  void add(Duration more) { nanoseconds_.fetch_add(more.count(), std::memory_order_relaxed); }
  double seconds() const { return to_seconds(Duration(nanoseconds_.load(std::memory_order_relaxed))); }

 private:
  std::atomic<int64_t> nanoseconds_{0};
};

/// A number that may rise and fall. is_set() is true from the first set() on.
class Gauge {
 public:
  void set(double value) {
    value_.store(value, std::memory_order_relaxed);
    set_.store(true, std::memory_order_release);
  }
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
  std::atomic<bool> set_{false};
};

/// A histogram that counts values by bucket, for Prometheus. Only one thread may add values.
template <size_t kBuckets>
class BucketCounts {
 public:
  using Bounds = std::array<double, kBuckets>;
  /// `bounds` are the upper bounds of the buckets, ascending. One more bucket counts all larger values.
  explicit BucketCounts(const Bounds& bounds) : bounds_(bounds) {}

  void add(double value) {
    size_t bucket = 0;
    while (bucket < kBuckets && !(value <= bounds_[bucket])) ++bucket;
    sum_.store(sum_.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  }
  const Bounds& bounds() const { return bounds_; }
  /// The number of values above bounds()[bucket - 1] and at most bounds()[bucket]; for kBuckets, above all bounds.
  uint64_t count(size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  Bounds bounds_;
  std::array<std::atomic<uint64_t>, kBuckets + 1> counts_{};
  std::atomic<double> sum_{0};
};

}  // namespace shoal::monitor
