#pragma once
/// One connection after its handshake, and the two channels between it and its task.
#include <optional>

#include "core.h"
#include "inbox.h"
#include "outbox.h"
#include "shoal/transport/channel.h"
#include "shoal/transport/heartbeat.h"

namespace shoal::transport::shm {

struct Datagram;

/// What a handshake gives.
struct HandshakeResult {
  File socket;
  Mapping rings;
  int side = 0;  ///< 0 connected, 1 accepted
  Endpoint peer;
  Heartbeat::Intervals heartbeat;
};

/// Everything on the strand, but for outgoing->push(), close() and set_receive_limit(). Handlers share it, so it lives
/// until the last of them has run, whatever happens to its Connection.
///
/// The control socket does four things: it wakes this side when it sleeps, it brings the peer's memory, what comes there
/// shows that the peer is alive, and its end is the end of the peer, however that came.
class Link final : public Holder, public std::enable_shared_from_this<Link> {
 public:
  Link(std::shared_ptr<Core> core, HandshakeResult handshake, const LinkOptions& options, std::shared_ptr<void> slot);
  /// Begins to read. Once, after construction.
  void start();

  const Endpoint& peer() const { return peer_; }
  std::optional<PeerIdentity> identity() const { return std::nullopt; }
  SteadyTime heard() const { return heartbeat_.received_at(); }
  std::shared_ptr<const std::string> name() const { return name_; }
  std::shared_ptr<Channel> outgoing() { return {shared_from_this(), &outgoing_}; }
  std::shared_ptr<Channel> incoming() { return {shared_from_this(), &incoming_}; }
  const std::shared_ptr<WaitQueue>& senders() const { return senders_; }
  const std::shared_ptr<WaitQueue>& receiver() const { return receiver_; }
  void set_receive_limit(uint64_t bytes) { receive_bytes_max_.store(bytes, std::memory_order_relaxed); }

  /// Any thread. What is queued is still sent, then the reason.
  void close(Error reason);
  void shut_down(SteadyTime deadline) override;

 private:
  enum class State : uint8_t {
    kOpen,
    kFlushing,   // closed by this side: the queue and the reason are on their way into the ring
    kLingering,  // all is in the ring: waits for the peer to have read it and to hang up
    kClosed,
  };
  enum class Filled : uint8_t { kIdle, kBlocked, kSocketFull, kGone, kAllSent, kBroken };

  void begin_flushing();
  void end_reading();
  void flush();
  Filled fill_ring();
  bool load_next();
  Result<void> make_reachable(Message& message);
  void wait_writable();

  void wait_notice();
  void noticed();
  bool take_notice();
  Result<void> understand(const Datagram& datagram);
  void check_heartbeat();

  void pump();
  void take_back();
  void read();
  bool reads() const { return state_ == State::kOpen && !stalled_ && !outgoing_.closed(); }
  Result<void> take(const Descriptor& next);
  void deliver(Message message);
  void end_stall();
  bool input_is_over() const;
  void rest();
  bool work_waits();
  void wake_soon();

  void breach(const Error& error) { close(error.with_context(*name_)); }
  /// Ends at once. Not inside a call of the user's, since it resumes those who wait.
  void fail(const Error& reason);
  void later(void (Link::*what)());

  const std::shared_ptr<Core> core_;
  std::optional<Watched> socket_;
  std::optional<asio::steady_timer> closing_timer_;
  std::optional<asio::steady_timer> heartbeat_timer_;
  const Endpoint peer_;
  const std::shared_ptr<const std::string> name_;
  const Duration spin_;
  Heartbeat heartbeat_;
  std::shared_ptr<void> slot_;
  std::atomic<uint64_t> receive_bytes_max_;
  Channel outgoing_;
  Channel incoming_;
  std::shared_ptr<WaitQueue> senders_;
  std::shared_ptr<WaitQueue> receiver_;

  const std::shared_ptr<const Rings> rings_;
  const std::shared_ptr<Doorbell> bell_;
  const std::shared_ptr<Inbox> inbox_;
  std::optional<Outbox> outbox_;  // none: closed
  State state_ = State::kOpen;
  std::optional<Error> broken_;  // found while a user's call was sending: handled a little later
  std::optional<Message> next_;  // out of the queue, and not in the ring yet
  bool next_is_farewell_ = false;
  bool waits_writable_ = false;
  bool waits_notice_ = false;
  bool gone_ = false;  // the peer hung up
  bool pump_posted_ = false;
  SteadyTime spin_until_{};
  std::optional<Message> stalled_;  // arrived, and there is no room for it: nothing is read until the task takes some
};

}  // namespace shoal::transport::shm
