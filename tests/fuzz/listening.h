// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A task that listens and echoes, on the target's own thread.
#include <functional>
#include <memory>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::fuzz {

class Listening {
 public:
  explicit Listening(const transport::Endpoint& at);
  const transport::Endpoint& endpoint() const { return listener_->endpoint(); }
  /// Turns the event loop until `over` and all connections have ended.
  void serve_until(const std::function<bool()>& over);

 private:
  Task<Result<void>> wait_until(const std::function<bool()>& over);
  Task<Result<void>> accept_all();
  Task<Result<void>> echo(std::unique_ptr<transport::Connection> connection);

  std::unique_ptr<Environment> env_;
  std::unique_ptr<transport::Listener> listener_;
  TaskGroup group_;
  int open_ = 0;
  bool accepts_ = false;
};

}  // namespace shoal::fuzz
