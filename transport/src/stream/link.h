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

/// What a handshake has found out about the peer.
struct Peer {
  Endpoint endpoint;
  std::optional<PeerIdentity> identity = {};
  Heartbeat::Intervals heartbeat = {};
};

/// Everything on the strand, but for outgoing->push(), close() and set_receive_limit(). Handlers share it, so it lives
/// until the last of them has run, whatever happens to its Connection. A transport says how bytes travel.
class Link : public Holder, public std::enable_shared_from_this<Link> {
 public:
  /// Begins to read. To be called once, after construction.
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

  /// May be called on any thread. What is queued is still sent, then the farewell message with `reason`.
  void close(Error reason);
  void shut_down(SteadyTime deadline) override;

 protected:
  enum class State : uint8_t {
    kOpen,
    kFlushing,   // Closed by this side: the queue and the farewell message are on their way.
    kLingering,  // All of that has left: waits for the peer to hang up, so that no reset overtakes the farewell message.
    kClosed,
  };
  Link(std::shared_ptr<Core> core, Peer peer, const LinkOptions& options, std::shared_ptr<void> slot);

  /// Sends what is queued for the first time, which arms the channel, and begins to wait for what comes.
  virtual void begin() = 0;
  /// Sends as much of the queue as the medium takes, and in kFlushing the farewell message behind it.
  virtual void flush() = 0;
  /// The same with the loop at a standstill: waits for the medium until `deadline`.
  virtual void flush_until(SteadyTime deadline) = 0;
  /// There is room for messages again, after a delivery that stalled.
  virtual void resume_reading() = 0;
  /// This side has closed: nothing is delivered any more, only the end of the peer matters.
  virtual void stop_reading() = 0;
  /// If the peer seems silent at `now`, reads what has come meanwhile: it may have been this side that slept.
  virtual void look_for_heartbeat(SteadyTime now) = 0;
  virtual void send_heartbeat() = 0;
  /// False once the peer has hung up, if what it sent before is still to be read.
  virtual bool peer_is_there() const { return true; }
  /// Lets go of the socket and of all that was under way.
  virtual void release() = 0;

  /// Puts a message where the task finds it. False: there is no room, and nothing is to be read until resume_reading().
  bool deliver(Message message);
  /// The body bytes of the largest message that is taken now.
  uint64_t bytes_max(bool farewell) const;
  /// Takes from the peer that it closes, and why. DataLoss if `message` is no error message.
  Result<void> take_farewell(const Message& message);
  /// Ends at once. Must not be called inside a call of the user's, since it resumes those who wait.
  void fail(const Error& reason);
  /// Calls a member of a derived class in a later turn of the loop.
  template <class Derived>
  void later(void (Derived::*what)()) {
    core_->postbox->post([self = self_of(static_cast<Derived*>(this)), what] { ((*self).*what)(); });
  }

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<const std::string> name_;  // The peer's name.
  Heartbeat heartbeat_;
  Channel outgoing_;
  State state_ = State::kOpen;
  std::optional<Error> broken_;     // Found while a user's call was sending: handled a little later.
  std::optional<Message> stalled_;  // Arrived, and there is no room for it: nothing is read until the task takes some.

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

/// The connection of `link` as its task sees it. Its destructor closes.
std::unique_ptr<Connection> make_connection(std::shared_ptr<Link> link);

}  // namespace shoal::transport::stream
