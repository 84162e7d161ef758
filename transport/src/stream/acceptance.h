// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A listening socket, the handshakes of the peers that connect, and the connections that result.
#include <deque>
#include <string>

#include "shoal/transport/accept_queue.h"
#include "stream/link.h"

namespace shoal::transport::stream {

class Handshake;

/// A listening socket and the unfinished handshakes of its peers. Used on the strand. The task's Listener and the handlers
/// of the event loop share it. The derived class opens the socket and accepts peers.
class Acceptance : public Holder, public std::enable_shared_from_this<Acceptance> {
 public:
  /// Begins to accept peers. Call it once, after construction.
  void start();
  const Endpoint& endpoint() const { return queue_->endpoint(); }
  const LinkOptions& options() const { return options_; }
  const std::shared_ptr<Core>& core() const { return core_; }

  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) { return queue_->accept(deadline); }
  void close();
  void shut_down(SteadyTime) override { close(); }

  /// Reserves a connection for `peer`, until the last copy of the result is dropped. Null if the limit is reached, which is
  /// logged.
  std::shared_ptr<void> admit(const Endpoint& peer);
  /// Called when `handshake` is over. `link` is its result, or null.
  void finished(Handshake& handshake, std::shared_ptr<Link> link);

 protected:
  /// `endpoint` is the address that peers can connect to. The socket has to listen there already.
  Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options);

  /// Waits for the next peers, and then calls begin_handshake() or pause_accepting().
  virtual void accept_next() = 0;
  virtual void close_socket() = 0;

  bool is_open() const { return open_; }
  void begin_handshake(std::shared_ptr<Handshake> handshake);
  /// Continues to accept a moment later, after a failure (`why`) that may pass.
  void pause_accepting(const std::string& why);

  const std::shared_ptr<Core> core_;

 private:
  const LinkOptions options_;
  const std::shared_ptr<AcceptQueue> queue_;
  bool open_ = false;
  std::optional<asio::steady_timer> pause_timer_;
  std::deque<std::shared_ptr<Handshake>> handshakes_;  // The unfinished handshakes, the oldest first.
};

/// Starts `acceptance`, and returns the Listener for its task.
std::unique_ptr<Listener> start_listening(std::shared_ptr<Acceptance> acceptance);

/// The handshake with one peer that has connected, on the side of the listener. Used on the strand. A timer ends it,
/// whatever the peer does. The derived class defines what is read and answered.
class Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  virtual ~Handshake() = default;
  void start(Duration timeout);
  /// Ends the handshake without an answer.
  void drop();

 protected:
  Handshake(std::weak_ptr<Acceptance> owner, Core& core) : owner_(std::move(owner)), timer_(core.io) {}

  /// Begins to read what the peer sends.
  virtual void begin() = 0;
  virtual void timed_out() { end(nullptr); }
  virtual void close_socket() = 0;

  /// The Acceptance to which this handshake belongs; null once the handshake is dropped.
  std::shared_ptr<Acceptance> owner() const { return owner_.lock(); }
  void end(std::shared_ptr<Link> link);

 private:
  std::weak_ptr<Acceptance> owner_;
  asio::steady_timer timer_;
};

}  // namespace shoal::transport::stream
