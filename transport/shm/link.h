// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One connection after its handshake: sends and receives messages through shared memory.
#include "core.h"
#include "inbox.h"
#include "outbox.h"
#include "stream/link.h"

namespace shoal::transport::shm {

struct Datagram;

/// The result of a handshake.
struct HandshakeResult {
  File socket;
  Mapping rings;
  int side = 0;  ///< The side that connected is 0, the one that accepted is 1.
  Endpoint peer;
  Heartbeat::Intervals heartbeat;
};

/// The link reads datagrams from a control socket, which has four uses: a datagram wakes this side if it sleeps; a datagram
/// may bring a descriptor of the peer's memory; every datagram shows that the peer lives; and the end of the socket's data
/// shows that the peer has ended, for whatever reason.
class Link final : public stream::Link {
 public:
  Link(const std::shared_ptr<Core>& core, HandshakeResult handshake, const LinkOptions& options,
       std::shared_ptr<void> slot);

 private:
  enum class Filled : uint8_t { kIdle, kBlocked, kSocketFull, kGone, kAllSent, kBroken };

  void begin() override;
  void flush() override;
  void flush_until(SteadyTime deadline) override;
  void resume_reading() override { pump(); }
  void stop_reading() override;
  void look_for_heartbeat(SteadyTime now) override;
  void send_heartbeat() override;
  bool peer_is_there() const override { return !gone_; }
  void release() override;

  Filled fill_ring();
  bool load_next();
  Result<void> make_reachable(Message& message);
  void wait_writable();

  void wait_notice();
  void read_notice();
  bool take_notice();
  Result<void> understand(const Datagram& datagram);

  void pump();
  void take_back();
  void read();
  bool reads() const { return state_ == State::kOpen && !stalled_ && !outgoing_.closed(); }
  Result<void> take(const Descriptor& next);
  bool input_is_over() const;
  void prepare_to_sleep();
  bool work_waits();
  void wake_soon();

  void protocol_error(const Error& error) { close(error.with_context(*name_)); }

  const Duration spin_;
  const std::shared_ptr<SharedMemory> memory_;
  std::optional<Watched> socket_;
  const std::shared_ptr<const Rings> rings_;
  const std::shared_ptr<Doorbell> bell_;
  const std::shared_ptr<Inbox> inbox_;
  std::optional<Outbox> outbox_;  // Nothing once closed.
  std::optional<Message> next_;   // A message that has left the queue but is not yet in the ring.
  bool next_is_farewell_ = false;
  bool waits_writable_ = false;
  bool waits_notice_ = false;
  bool gone_ = false;  // True once the peer has hung up.
  bool pump_posted_ = false;
  SteadyTime spin_until_{};
};

}  // namespace shoal::transport::shm
