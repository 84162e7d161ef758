// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Lets the event loop sleep: in Asio, so that sockets wake it too, or, in a build without Asio, on a condition variable.
#include <exception>
#include <memory>

#include "shoal/base/event_loop.h"
#include "shoal/base/time.h"

namespace shoal {

class LoopWait {
 public:
  virtual ~LoopWait() = default;
  /// Runs some of the handlers that are ready, without waiting; false if none was. Loop thread only.
  virtual bool poll() = 0;
  /// Sleeps until another thread calls wake(), a handler is ready (which is then run), or `deadline`. Loop thread only.
  virtual void wait_until(SteadyTime deadline) = 0;
  /// Ends the present or the next wait_until(). Callable from any thread.
  virtual void wake() = 0;
  virtual boost::asio::io_context* context() = 0;
};

/// Makes the object in which the event loop waits for work. Raises Unavailable if the system gives no file descriptor.
std::unique_ptr<LoopWait> make_loop_wait();

/// The system's error number in an exception of Asio; 0 for any other exception.
int error_number_of(const std::exception& exception);

}  // namespace shoal
