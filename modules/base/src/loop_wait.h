// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How the event loop sleeps: in Asio, so that sockets wake it too, or, in a build without Asio, on a condition variable.
#include <exception>
#include <memory>

#include "shoal/base/event_loop.h"
#include "shoal/base/time.h"

namespace shoal {

class LoopWait {
 public:
  virtual ~LoopWait() = default;
  /// Runs some of the handlers that are ready, without waiting; false if there were none. Loop thread.
  virtual bool poll() = 0;
  /// Sleeps until wake(), a handler (which it runs), or `deadline`. Loop thread.
  virtual void wait_until(SteadyTime deadline) = 0;
  /// Ends the present or the next wait_until(). Any thread.
  virtual void wake() = 0;
  virtual boost::asio::io_context* context() = 0;
};

/// Raises Unavailable if the system gives no descriptor for it.
std::unique_ptr<LoopWait> make_loop_wait();

/// The error number of the system that an exception of Asio carries; 0 for any other exception.
int error_number_of(const std::exception& exception);

}  // namespace shoal
