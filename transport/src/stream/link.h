// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One connection after its handshake, and the two channels between it and its task.
#include <atomic>
#include <optional>
#include <string>

#include "shoal/transport/channel.h"
#include "shoal/transport/heartbeat.h"
#include "stream/core.h"

namespace shoal::transport::stream {

/// What the handshake found out about the peer.
struct Peer {
  Endpoint endpoint;
  std::optional<PeerIdentity> identity = {};
  Heartbeat::Intervals heartbeat = {};
};

/// One connection. Only outgoing->push(), close() and set_receive_limit() may be called on other threads than the strand's.
/// The event loop's handlers share ownership of the link, so it lives until its last handler has run, even if its
/// Connection was destroyed before. Derived classes define how bytes are moved.
class Link : public Holder, public std::enable_shared_from_this<Link> {
 public:
  /// Begins to read. Call it once, after construction.
  void start();

  const Endpoint& peer() const { return peer_; }
  const std::optional<PeerIdentity>& identity() const { return identity_; }
  SteadyTime heard() const { return heartbeat_.received_at(); }
  std::shared_ptr<const std::string> name() const { return name_; }
  std::shared_ptr<Channel> outgoing() { return {shared_from_this(), &outgoing_}; }
  std::shared_ptr<Channel> incoming() { return {shared_from_this(), &incoming_}; }
  const std::shared_ptr<WaitQueue>& senders() const { return senders_; }
  const std::shared_ptr<WaitQueue>& receiver() const { return receiver_; }
  void set_receive_limit(uint64_t bytes) { receive_bytes_max_.store(bytes, std::memory_order_relaxed); }

  /// Sends what is queued, then the farewell message with `reason`, and closes. Callable from any thread.
  void close(Error reason);
  void shut_down(SteadyTime deadline) override;

 protected:
  enum class State : uint8_t {
    kOpen,
    kFlushing,   // This side has closed: the queue and the farewell message are being sent.
    kLingering,  // Everything is sent. Waits until the peer hangs up, so that no reset overtakes the farewell message.
    kClosed,
  };
  Link(std::shared_ptr<Core> core, Peer peer, const LinkOptions& options, std::shared_ptr<void> slot);

  /// Called once. Sends the messages that are queued in outgoing_, and begins to wait for input. From then on, outgoing_
  /// reports each new message.
  virtual void begin() = 0;
  /// Sends queued messages while the socket or the shared memory has room; in kFlushing, then also the farewell message.
  virtual void flush() = 0;
  /// As flush(), but for the time when the event loop no longer runs: waits, until `deadline`, for room in the socket or in
  /// the shared memory.
  virtual void flush_until(SteadyTime deadline) = 0;
  /// Called when there is room for messages again, after deliver() returned false.
  virtual void resume_reading() = 0;
  /// Called when this side has closed: the link delivers nothing any more, and only waits until the peer hangs up.
  virtual void stop_reading() = 0;
  /// If the peer seems silent at `now`, reads what has arrived: perhaps the peer sent heartbeats, and this process did not
  /// run in time to read them.
  virtual void look_for_heartbeat(SteadyTime now) = 0;
  virtual void send_heartbeat() = 0;
  /// False if the peer has hung up, while messages that it sent before are still to be read.
  virtual bool peer_is_there() const { return true; }
  /// Closes the socket and drops everything that is in progress.
  virtual void release() = 0;

  /// Passes a received message to the task. False: the task's queue of received messages is full, and nothing more may be
  /// read from the peer until resume_reading() is called.
  bool deliver(Message message);
  /// The most bytes that the body of the next received message may have; `farewell`: the body of a farewell message.
  uint64_t bytes_max(bool farewell) const;
  /// Handles the peer's farewell message, which says why it closes. DataLoss if `message` is not an error message.
  Result<void> take_farewell(const Message& message);
  /// Ends the connection at once, and stops the waits of its senders and its receiver. Never call it while a caller's
  /// send(), receive() or other call on this connection runs.
  void fail(const Error& reason);
  /// Lets the event loop call a member function of the derived class later, after the code that runs now has returned.
  template <class Derived>
  void later(void (Derived::*what)()) {
    core_->postbox->post([self = self_of(static_cast<Derived*>(this)), what] { ((*self).*what)(); });
  }

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<const std::string> name_;  // The name of the peer.
  Heartbeat heartbeat_;
  Channel outgoing_;
  State state_ = State::kOpen;
  std::optional<Error> broken_;     // An error found in a caller's call, such as send(). The event loop handles it later.
  std::optional<Message> stalled_;  // A received message that incoming_ cannot hold yet. Reading pauses meanwhile.

 private:
  void begin_flushing();
  void end_reading();
  void end_stall();
  void check_heartbeat();
  bool may_judge() const { return state_ == State::kOpen && peer_is_there() && core_->open(); }

  const Endpoint peer_;
  const std::optional<PeerIdentity> identity_;
  std::shared_ptr<void> slot_;
  std::atomic<uint64_t> receive_bytes_max_;
  Channel incoming_;
  std::shared_ptr<WaitQueue> senders_;
  std::shared_ptr<WaitQueue> receiver_;
  std::optional<asio::steady_timer> closing_timer_;
  std::optional<asio::steady_timer> heartbeat_timer_;
};

/// The Connection of `link` for its task. Its destructor closes the link.
std::unique_ptr<Connection> make_connection(std::shared_ptr<Link> link);

}  // namespace shoal::transport::stream
