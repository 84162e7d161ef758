// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For those who implement a transport: one direction of a connection inside a process, and what send() and receive()
/// mean on it. Transports differ in who stands at the other end of a channel: the peer's task, or a socket.
#include <mutex>
#include <optional>
#include <string>

#include "shoal/transport/message_queue.h"
#include "shoal/transport/wait_queue.h"

namespace shoal::transport {

/// A FIFO of messages between producers and one consumer, bounded by bytes. Any thread, unless said otherwise. The two
/// notifications run on the thread that caused them, without a lock held; they post to where the waiting party lives.
class Channel {
 public:
  using Notify = UniqueFunction<void()>;
  /// `consumer_ready`: the consumer found nothing (pop_or_arm) and now there is something, or the end: once per burst.
  /// `credit_ready`: senders wait and there is credit, or the end: once until credit_noticed().
  Channel(uint64_t bytes_max, Notify consumer_ready, Notify credit_ready);

  enum class Push : uint8_t { kDone, kFull, kClosed };
  /// Takes `message` if fewer than `bytes_max` bytes are queued (so one message may go beyond), nobody waits and
  /// the channel is open; else leaves it alone.
  Push push(Message& message) { return push_as(Sender::kWillNotWait, message); }
  /// The same, but on kFull the caller then counts as waiting until stop_waiting().
  Push push_or_wait(Message& message) { return push_as(Sender::kWillWait, message); }
  /// The same for the one that has waited longest: takes `message` unless closed.
  Push push_waiting(Message& message) { return push_as(Sender::kHasWaited, message); }
  void stop_waiting();
  void credit_noticed();
  bool has_credit() const;

  /// The next message; none: consumer_ready() will be called; the reason, if closed and drained. The consumer only.
  Result<std::optional<Message>> pop_or_arm();
  std::optional<Message> pop();
  bool empty() const;

  /// Nothing is taken any more; what is queued may still be popped. The first reason counts.
  void close(Error reason);
  /// Drops what is queued.
  void discard();
  std::optional<Error> closed() const;

 private:
  enum class Sender : uint8_t { kWillNotWait, kWillWait, kHasWaited };
  Push push_as(Sender sender, Message& message);
  std::optional<Message> pop_locked(bool& notify);

  mutable std::mutex mutex_;
  // All guarded by mutex_, except the notifications, which never change:
  MessageQueue queue_;
  const uint64_t bytes_max_;
  bool consumer_waits_ = false;
  int waiting_senders_ = 0;
  bool credit_announced_ = false;
  std::optional<Error> closed_;
  Notify consumer_ready_;
  Notify credit_ready_;
};

/// What credit_ready() brings about, on the senders' strand: resumes them in order while there is credit.
void release_senders(Channel& channel, WaitQueue& senders);

/// Connection::send() and receive() on a channel. From the strand of `waits`. `peer` is for sentences.
Task<Result<void>> send_through(std::shared_ptr<Channel> channel, std::shared_ptr<WaitQueue> waits,
                                std::shared_ptr<const std::string> peer, Message message, Deadline deadline);
Task<Result<Message>> receive_through(std::shared_ptr<Channel> channel, std::shared_ptr<WaitQueue> waits,
                                      std::shared_ptr<const std::string> peer, Deadline deadline);

/// A reason as those get it who wait on the connection: Cancelled, DeadlineExceeded and EndOfInput mean something only where
/// they arose (a wait that takes the second for its own would wait again, at once, for ever), so they arrive as Unavailable;
/// every other kind stays.
Error closing_reason(Error reason);

}  // namespace shoal::transport
