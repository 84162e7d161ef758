// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A listening socket, the handshakes of the peers that connect, and the connections that come of them.
#include <deque>
#include <string>

#include "shoal/transport/accept_queue.h"
#include "stream/link.h"

namespace shoal::transport::stream {

class Handshake;

/// Lives on the strand. Shared by its Listener and its handlers. A transport opens the socket and takes peers from it.
class Acceptance : public Holder, public std::enable_shared_from_this<Acceptance> {
 public:
  /// Begins to take peers. To be called once, after construction.
  void start();
  const Endpoint& endpoint() const { return queue_->endpoint(); }
  const LinkOptions& options() const { return options_; }
  const std::shared_ptr<Core>& core() const { return core_; }

  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) { return queue_->accept(deadline); }
  void close();
  void shut_down(SteadyTime) override { close(); }

  /// A place for a connection to `peer`, given back by the last copy; null if all are taken, which the log says.
  std::shared_ptr<void> admit(const Endpoint& peer);
  /// `handshake` is over; `link` is what came of it, or null.
  void finished(Handshake& handshake, std::shared_ptr<Link> link);

 protected:
  /// `endpoint`: the address that peers can connect to. The socket listens there already.
  Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options);

  /// Waits for the next peers; ends in begin_handshake() or pause_accepting().
  virtual void accept_next() = 0;
  virtual void close_socket() = 0;

  bool is_open() const { return open_; }
  void begin_handshake(std::shared_ptr<Handshake> handshake);
  /// Goes on a moment later, after a failure that this may mend: `why`.
  void pause_accepting(const std::string& why);

  const std::shared_ptr<Core> core_;

 private:
  const LinkOptions options_;
  const std::shared_ptr<AcceptQueue> queue_;
  bool open_ = false;
  std::optional<asio::steady_timer> pause_timer_;
  std::deque<std::shared_ptr<Handshake>> handshakes_;  // Those under way, the oldest first.
};

/// Starts `acceptance`, and gives the listener that its task sees.
std::unique_ptr<Listener> start_listening(std::shared_ptr<Acceptance> acceptance);

/// The handshake with one peer that has connected, on the side of the listener. Lives on the strand. Ends in time,
/// whatever the peer does. A transport says what is read and answered.
class Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  virtual ~Handshake() = default;
  void start(Duration timeout);
  /// The handlers end without a word.
  void drop();

 protected:
  Handshake(std::weak_ptr<Acceptance> owner, Core& core) : owner_(std::move(owner)), timer_(core.io) {}

  /// Begins to read what the peer says.
  virtual void begin() = 0;
  virtual void timed_out() { end(nullptr); }
  virtual void close_socket() = 0;

  /// The acceptance; null once dropped.
  std::shared_ptr<Acceptance> owner() const { return owner_.lock(); }
  void end(std::shared_ptr<Link> link);

 private:
  std::weak_ptr<Acceptance> owner_;
  asio::steady_timer timer_;
};

}  // namespace shoal::transport::stream
