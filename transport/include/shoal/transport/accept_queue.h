// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For implementers of a transport: the queue of a listener's connections between their handshake and accept().
#include <atomic>
#include <deque>
#include <memory>
#include <utility>

#include "shoal/transport/transport.h"
#include "shoal/transport/wait_queue.h"

namespace shoal::transport {

/// The connections that are not yet accepted, the coroutines that wait for one, and the count of connections of a listener.
/// Made and used on the strand of the task that listens. Work of other threads is posted there (Postbox).
class AcceptQueue : public std::enable_shared_from_this<AcceptQueue> {
 public:
  AcceptQueue(Environment& env, Endpoint endpoint, int connections_max);

  const Endpoint& endpoint() const { return endpoint_; }
  bool full() const { return *slots_taken_ >= connections_max_; }
  /// Reserves one of the listener's connections until the last copy of the result is dropped (on any thread). Null if the
  /// limit is reached. May be called on any thread, but never on two at once.
  std::shared_ptr<void> take_slot();
  /// Adds a connection. If a coroutine waits for one, resumes it before this call returns. If the listener was closed,
  /// closes the connection.
  void push(std::unique_ptr<Connection> connection);
  /// Returns the next connection. DeadlineExceeded: none came in time. Cancelled: the listener was closed, or the
  /// environment was killed.
  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) { return accept_on(shared_from_this(), deadline); }
  /// Closes the connections that are not yet accepted. wake_all(), which may be called later, resumes the coroutines that
  /// wait in accept(): they return Cancelled.
  void close();
  void wake_all() { waits_->wake_all(); }

 private:
  static Task<Result<std::unique_ptr<Connection>>> accept_on(std::shared_ptr<AcceptQueue> self, Deadline deadline);

  const Endpoint endpoint_;
  const int connections_max_;
  bool open_ = true;
  std::shared_ptr<WaitQueue> waits_;
  std::deque<std::unique_ptr<Connection>> ready_;
  // Shared with the results of take_slot(), which may outlive this object.
  const std::shared_ptr<std::atomic<int>> slots_taken_ = std::make_shared<std::atomic<int>>(0);
};

/// The Listener that a transport gives to a task. It passes all calls on to the object `acceptance`, which accepts the
/// peers. Handlers of the event loop share that object, so it may live longer than this Listener.
template <class Acceptance>
class ListenerHandle final : public Listener {
 public:
  explicit ListenerHandle(std::shared_ptr<Acceptance> acceptance) : acceptance_(std::move(acceptance)) {}
  ~ListenerHandle() override { acceptance_->close(); }
  const Endpoint& endpoint() const override { return acceptance_->endpoint(); }
  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) override { return acceptance_->accept(deadline); }
  void close() override { acceptance_->close(); }

 private:
  std::shared_ptr<Acceptance> acceptance_;
};

}  // namespace shoal::transport
