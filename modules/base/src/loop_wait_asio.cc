// SPDX-License-Identifier: Apache-2.0
#include <utility>  // Boost 1.74's Asio needs it without including it.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <boost/system/system_error.hpp>

#include <atomic>

#include "died.h"
#include "loop_wait.h"
#include "shoal/base/exhaustion.h"

namespace shoal {
namespace {

class AsioLoopWait final : public LoopWait {
 public:
  bool poll() override {
    // One call runs at most this many handlers, so that a busy socket does not delay posted work and timers.
    constexpr int kHandlersMax = 64;
    int count = 0;
    guarded([&] {
      while (count < kHandlersMax && context_.poll_one() > 0) ++count;
    });
    return count > 0;
  }

  void wait_until(SteadyTime deadline) override {
    guarded([&] {
      if (deadline == kNoDeadline) {
        context_.run_one();
      } else {
        context_.run_one_until(std::chrono::steady_clock::time_point(deadline.time_since_epoch()));
      }
    });
  }

  void wake() override {
    if (waking_.exchange(true, std::memory_order_acq_rel)) return;  // An earlier wake() is not handled yet.
    boost::asio::post(context_, [this] { waking_.store(false, std::memory_order_release); });
  }

  boost::asio::io_context* context() override { return &context_; }

 private:
  /// No caller could receive an error of a handler, so an exception ends the process.
  template <class Run>
  static void guarded(const Run& run) noexcept {
#if defined(__cpp_exceptions)
    try {
      run();
    } catch (...) {
      died_of_current_exception("a handler of the event loop");
    }
#else
    run();
#endif
  }

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> never_out_of_work_{context_.get_executor()};
  std::atomic<bool> waking_{false};
};

}  // namespace

int error_number_of(const std::exception& exception) {
  const auto* const error = dynamic_cast<const boost::system::system_error*>(&exception);
  const bool of_system = error && error->code().category() == boost::system::system_category();
  return of_system ? error->code().value() : 0;
}

std::unique_ptr<LoopWait> make_loop_wait() {
#if defined(__cpp_exceptions)
  try {
#endif
    return std::make_unique<AsioLoopWait>();
#if defined(__cpp_exceptions)
  } catch (const boost::system::system_error& error) {
    raise_exhausted(unavailable("the event loop of a task cannot be made: " + system_error_text(error.code().value())));
  }
#endif
}

}  // namespace shoal

#if !defined(__cpp_exceptions)
// Boost asks for these functions where it cannot throw.
namespace boost {
struct source_location;
[[noreturn]] void throw_exception(const std::exception& thrown);
[[noreturn]] void throw_exception(const std::exception& thrown, const source_location& where);

void throw_exception(const std::exception& thrown) { shoal::raise(shoal::internal_error(thrown.what())); }
void throw_exception(const std::exception& thrown, const source_location&) { throw_exception(thrown); }
}  // namespace boost
#endif
