// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One socket after its handshake: sends and receives frames.
#include <array>
#include <optional>

#include "core.h"
#include "frame.h"
#include "stream.h"
#include "stream/link.h"

namespace shoal::transport::tcp {

/// Frames that are being written to the socket. A frame is a header and a message's body. One gather write sends the
/// headers and bodies of several frames without a copy. Each body is released as soon as its last byte is written.
class WriteBatch {
 public:
  static constexpr size_t kFramesMax = 16;
  static constexpr uint64_t kBytesMax = 1 << 20;  // Only a batch of fewer bytes takes a further frame, of any size.

  bool empty() const { return first_ == count_; }
  bool has_room() const { return count_ < kFramesMax && bytes_ < kBytesMax; }
  void add(Message message, bool checksum, bool farewell);
  /// Adds a heartbeat to an empty batch. Nothing else is added then, and the heartbeat does not count as a message.
  void add_heartbeat();
  /// The unwritten bytes, or the first kBytesMax of them, in the form that the socket takes.
  struct Gather {
    std::array<asio::const_buffer, 2 * kFramesMax> parts;
    size_t count = 0;
    operator std::span<const asio::const_buffer>() const { return {parts.data(), count}; }  // NOLINT: converts to its parts
  };
  Gather rest() const;
  /// Notes that `bytes` more bytes were written. Returns how many messages are complete now and were not before.
  size_t advance(size_t bytes);
  void clear();

 private:
  std::array<FrameBytes, kFramesMax> heads_;
  std::array<Message, kFramesMax> messages_;
  size_t count_ = 0;
  size_t first_ = 0;    // The first frame that is not completely written.
  size_t written_ = 0;  // How many bytes of frame first_ are written.
  uint64_t bytes_ = 0;
  bool heartbeat_ = false;
};

/// The terms that the two sides have agreed on.
struct LinkTerms {
  bool checksum = false;
  Heartbeat::Intervals heartbeat;
};
/// Returns the preamble (the bytes that open a connection) that a side with these options sends.
Preamble preamble_of(const LinkOptions& options, bool checksum);
LinkTerms agree(const Preamble& ours, const Preamble& theirs);

/// The state of a frame that is being received. The bytes of its header are collected in this struct. Its body is read
/// directly into its final buffer.
struct ReadState {
  FrameBytes head_bytes;
  size_t head_have = 0;
  Frame frame;
  Ref<Buffer> body;  // Null until the frame's header was received.
  size_t body_have = 0;
};

class Link final : public stream::Link {
 public:
  Link(std::shared_ptr<stream::Core> core, Stream stream, Endpoint peer, const LinkOptions& options, const LinkTerms& terms,
       std::shared_ptr<void> slot);
  void shut_down(SteadyTime deadline) override;

 private:
  enum class Progress : uint8_t { kDone, kBlocked, kAgain, kFailed };
  /// The most bytes that one turn of the event loop moves for a connection, so that all connections get their turns. One
  /// call reads at most kCallBytes of a body, since a fast peer could otherwise keep the call going.
  static constexpr size_t kTurnBytes = size_t(4) << 20;
  static constexpr size_t kCallBytes = size_t(1) << 20;

  void begin() override;
  void flush() override;
  void flush_until(SteadyTime deadline) override;
  void resume_reading() override;
  void stop_reading() override;
  void look_for_heartbeat(SteadyTime now) override;
  void send_heartbeat() override;
  void release() override;

  Progress write_some();
  void load_batch();
  void finish_writing();
  void wait_writable();
  bool nothing_to_write() const { return batch_.empty() && !stream_->unsent(); }

  void read();
  void read_on();
  Progress read_some();
  bool take_bytes(size_t bytes);  // Handles `bytes` bytes just read. False if reading has ended or has to pause.
  bool take_head();
  bool take_body();
  void discard_input();
  void wait_readable();
  Error lost(const error_code& error) const;

  std::optional<Stream> stream_;
  const bool checksum_;
  WriteBatch batch_;
  bool farewell_loaded_ = false;
  bool flushing_now_ = false;
  bool waits_writable_ = false;
  ReadState in_;
  bool waits_readable_ = false;
};

}  // namespace shoal::transport::tcp
