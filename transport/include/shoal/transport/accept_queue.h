// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For those who implement a transport: what a listener does once handshakes are through.
#include <atomic>
#include <deque>
#include <memory>
#include <utility>

#include "shoal/transport/transport.h"
#include "shoal/transport/wait_queue.h"

namespace shoal::transport {

/// Connections that nobody has accepted yet, who waits for them, and the places that a listener has. Made and used on the strand
/// of the task that listens; what arrives on another thread is posted there (Postbox).
class AcceptQueue : public std::enable_shared_from_this<AcceptQueue> {
 public:
  AcceptQueue(Environment& env, Endpoint endpoint, int connections_max);

  const Endpoint& endpoint() const { return endpoint_; }
  bool full() const { return *slots_taken_ >= connections_max_; }
  /// A place for one more connection, given back by the last copy, on any thread; null if all are taken. May be called on other
  /// threads than the strand if never by two at once.
  std::shared_ptr<void> take_slot();
  /// Wakes who waits for it, inside this call. Closes it if nobody listens any more.
  void push(std::unique_ptr<Connection> connection);
  /// The next connection. DeadlineExceeded; Cancelled once closed, or if the environment was killed.
  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) { return accept_on(shared_from_this(), deadline); }
  /// Closes those that nobody has accepted. Whoever waits is woken by wake_all(), which may be called later.
  void close();
  void wake_all() { waits_->wake_all(); }

 private:
  static Task<Result<std::unique_ptr<Connection>>> accept_on(std::shared_ptr<AcceptQueue> self, Deadline deadline);

  const Endpoint endpoint_;
  const int connections_max_;
  bool open_ = true;
  std::shared_ptr<WaitQueue> waits_;
  std::deque<std::unique_ptr<Connection>> ready_;
  // Connections give their places back wherever they end.
  const std::shared_ptr<std::atomic<int>> slots_taken_ = std::make_shared<std::atomic<int>>(0);
};

/// A listener as its task sees it, over an object that lives on with the event loop.
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
