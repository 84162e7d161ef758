// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <mutex>

#include "loop_wait.h"

namespace shoal {
namespace {

class PlainLoopWait final : public LoopWait {
 public:
  bool poll() override { return false; }

  void wait_until(SteadyTime deadline) override {
    std::unique_lock lock(mutex_);
    if (deadline == kNoDeadline) {
      woken_.wait(lock, [this] { return wake_; });
    } else {
      woken_.wait_until(lock, std::chrono::steady_clock::time_point(deadline.time_since_epoch()), [this] { return wake_; });
    }
    wake_ = false;
  }

  void wake() override {
    {
      std::lock_guard lock(mutex_);
      wake_ = true;
    }
    woken_.notify_one();
  }

  boost::asio::io_context* context() override { return nullptr; }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  bool wake_ = false;  // Guarded by mutex_.
};

}  // namespace

int error_number_of(const std::exception&) { return 0; }

std::unique_ptr<LoopWait> make_loop_wait() { return std::make_unique<PlainLoopWait>(); }

}  // namespace shoal
