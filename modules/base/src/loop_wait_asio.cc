#include <utility>  // Boost 1.74's Asio forgets it.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <atomic>

#include "loop_wait.h"

namespace shoal {
namespace {

class AsioLoopWait final : public LoopWait {
 public:
  bool poll() override {
    constexpr int kHandlersMax = 64;  // A busy socket may not keep posted work and timers waiting.
    int count = 0;
    while (count < kHandlersMax && context_.poll_one() > 0) ++count;
    return count > 0;
  }

  void wait_until(SteadyTime deadline) override {
    if (deadline == kNoDeadline) {
      context_.run_one();
    } else {
      context_.run_one_until(std::chrono::steady_clock::time_point(deadline.time_since_epoch()));
    }
  }

  void wake() override {
    if (waking_.exchange(true, std::memory_order_acq_rel)) return;  // One that is on its way will do.
    boost::asio::post(context_, [this] { waking_.store(false, std::memory_order_release); });
  }

  boost::asio::io_context* context() override { return &context_; }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> never_out_of_work_{context_.get_executor()};
  std::atomic<bool> waking_{false};
};

}  // namespace

std::unique_ptr<LoopWait> make_loop_wait() { return std::make_unique<AsioLoopWait>(); }

}  // namespace shoal
