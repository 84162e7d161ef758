#pragma once
/// One socket after its handshake, and the two channels between it and its task.
#include <array>
#include <optional>

#include "core.h"
#include "frame.h"
#include "shoal/transport/channel.h"
#include "shoal/transport/heartbeat.h"
#include "stream.h"

namespace shoal::transport::tcp {

/// Frames on their way into the socket. Heads and bodies leave by one gather write, without a copy; each body is let go of
/// as soon as its last byte has left.
class WriteBatch {
 public:
  static constexpr size_t kFramesMax = 16;
  static constexpr uint64_t kBytesMax = 1 << 20;  // begun with less; a single large message may be more

  bool empty() const { return first_ == count_; }
  bool has_room() const { return count_ < kFramesMax && bytes_ < kBytesMax; }
  void add(Message message, bool checksum, bool farewell);
  /// To an empty batch only, which then has nothing else and counts as no message.
  void add_heartbeat();
  /// What is left, or the first kBytesMax of it, as the socket takes it.
  struct Gather {
    std::array<asio::const_buffer, 2 * kFramesMax> parts;
    size_t count = 0;
    operator std::span<const asio::const_buffer>() const { return {parts.data(), count}; }  // NOLINT: what it is
  };
  Gather rest() const;
  /// Returns how many messages that completed.
  size_t advance(size_t bytes);
  void clear();

 private:
  std::array<FrameBytes, kFramesMax> heads_;
  std::array<Message, kFramesMax> messages_;
  size_t count_ = 0;
  size_t first_ = 0;    // not yet wholly written
  size_t written_ = 0;  // bytes of that one
  uint64_t bytes_ = 0;
  bool heartbeat_ = false;
};

/// What the two sides have agreed on.
struct LinkTerms {
  bool checksum = false;
  Heartbeat::Intervals heartbeat;
};
/// What a side says of itself.
Preamble preamble_of(const LinkOptions& options, bool checksum);
LinkTerms agree(const Preamble& ours, const Preamble& theirs);

/// Where a frame that is arriving is put: the head here, the body at once in the buffer that it stays in.
struct ReadState {
  FrameBytes head_bytes;
  size_t head_have = 0;
  Frame frame;
  Ref<Buffer> body;  // null: no head yet
  size_t body_have = 0;
};

/// Everything on the strand, but for outgoing->push(), close() and set_receive_limit(). Handlers share it, so it lives until
/// the last of them has run, whatever happens to its Connection.
class Link final : public Holder, public std::enable_shared_from_this<Link> {
 public:
  Link(std::shared_ptr<Core> core, Stream stream, Endpoint peer, const LinkOptions& options, const LinkTerms& terms,
       std::shared_ptr<void> slot);
  /// Begins to read. Once, after construction.
  void start();

  const Endpoint& peer() const { return peer_; }
  std::optional<PeerIdentity> identity() const { return identity_; }
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
    kFlushing,   // closed by this side: the queue and the reason are being written
    kLingering,  // all is written: waits for the peer to close, so that no reset overtakes the reason
    kClosed,
  };
  enum class Progress : uint8_t { kDone, kBlocked, kAgain, kFailed };
  /// One turn of the event loop does not move more than this for one connection, so that others get theirs; nor does one
  /// call of the system, which would go on for as long as the peer keeps up.
  static constexpr size_t kTurnBytes = size_t(4) << 20;
  static constexpr size_t kCallBytes = size_t(1) << 20;

  void begin_flushing();
  void end_reading();
  void flush();
  Progress write_some();
  void load_batch();
  void finish_writing();
  void wait_writable();
  bool nothing_to_write() const { return batch_.empty() && !stream_->unsent(); }

  void read();
  void read_on();
  Progress read_some();
  bool take_bytes(size_t bytes);  // false: reading is over or has to wait
  bool take_head();
  bool take_body();
  bool deliver(Message message);
  void end_stall();
  void discard_input();
  void wait_readable();
  Error lost(const error_code& error) const;

  void check_heartbeat();

  /// Ends at once.
  void fail(const Error& reason);
  void later(void (Link::*what)());

  const std::shared_ptr<Core> core_;
  std::optional<Stream> stream_;
  std::optional<asio::steady_timer> closing_timer_;
  std::optional<asio::steady_timer> heartbeat_timer_;
  const Endpoint peer_;
  const std::optional<PeerIdentity> identity_;
  const std::shared_ptr<const std::string> name_;
  const bool checksum_;
  Heartbeat heartbeat_;
  std::shared_ptr<void> slot_;
  std::atomic<uint64_t> receive_bytes_max_;
  Channel outgoing_;
  Channel incoming_;
  std::shared_ptr<WaitQueue> senders_;
  std::shared_ptr<WaitQueue> receiver_;

  State state_ = State::kOpen;
  std::optional<Error> broken_;  // found while a user's call was writing: handled a little later
  WriteBatch batch_;
  bool farewell_loaded_ = false;
  bool flushing_now_ = false;
  bool waits_writable_ = false;
  ReadState in_;
  bool waits_readable_ = false;
  std::optional<Message> stalled_;  // arrived, and there is no room for it: nothing is read until the task takes some
};

}  // namespace shoal::transport::tcp
