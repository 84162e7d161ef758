// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For implementers of a transport: access to an Environment that may end before its peers do.
#include <mutex>

#include "shoal/base/environment.h"

namespace shoal::transport {

/// Posts work to the strand of one task, from any thread, until close(). Shared by the task's transport and by objects on
/// other threads that want to wake the task. The destructor of the transport closes the postbox while the environment still
/// exists.
class Postbox {
 public:
  explicit Postbox(Environment& env) : env_(&env) {}

  /// Returns false, and drops `work`, if closed. Transports call it with locks held, so the destructor of `work` must not
  /// post.
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
  /// After this call nothing is posted any more. Call it on the strand, or when the strand no longer runs.
  void close() {
    std::lock_guard lock(mutex_);
    env_ = nullptr;
  }
  /// The environment; null once closed. Strand only.
  Environment* environment() const {
    std::lock_guard lock(mutex_);
    return env_;
  }

 private:
  mutable std::mutex mutex_;
  Environment* env_;  // Guarded by mutex_.
};

}  // namespace shoal::transport
