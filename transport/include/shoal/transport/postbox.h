// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For those who implement a transport: a way to an Environment that may end before its peers do.
#include <mutex>

#include "shoal/base/environment.h"

namespace shoal::transport {

/// Posts to one task's strand from any thread until close(). The transport of the task owns it, shared with whatever on
/// other threads wants to wake that task; the transport's destructor closes it, while the environment still exists.
class Postbox {
 public:
  explicit Postbox(Environment& env) : env_(&env) {}

  /// False if closed: `work` was dropped. Called under locks of transports: destroying a dropped `work` may not post.
  bool post(Work work) {
    std::lock_guard lock(mutex_);
    if (!env_) return false;
    env_->post(std::move(work));
    return true;
  }
  bool on_strand() const {
    std::lock_guard lock(mutex_);
    return env_ && env_->on_strand();
  }
  /// Nothing is posted once this has returned. From the strand, or when it no longer runs.
  void close() {
    std::lock_guard lock(mutex_);
    env_ = nullptr;
  }
  /// The environment; null once closed. From the strand.
  Environment* environment() const {
    std::lock_guard lock(mutex_);
    return env_;
  }

 private:
  mutable std::mutex mutex_;
  Environment* env_;  // Guarded by mutex_.
};

}  // namespace shoal::transport
