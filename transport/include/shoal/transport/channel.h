// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For implementers of a transport: one direction of a connection inside of a process, with send() and receive() on it.
/// Transports differ in what is at the other end of a channel: the peer's task, or a socket.
#include <mutex>
#include <optional>
#include <string>

#include "shoal/transport/message_queue.h"
#include "shoal/transport/wait_queue.h"

namespace shoal::transport {

/// A FIFO of messages from any number of producers to one consumer, bounded by bytes. Thread-safe, unless said otherwise.
/// The channel calls its two notifications on the thread that causes them, without a lock. They should post to the strand
/// of the task that waits.
class Channel {
 public:
  using Notify = UniqueFunction<void()>;
  /// `consumer_ready` is called once after a pop_or_arm() that found no message: when the next message arrives, or when the
  /// channel closes. `credit_ready` is called when senders wait and the channel has room (credit), or when the channel
  /// closes. The next call of `credit_ready` comes only after a call of credit_noticed().
  Channel(uint64_t bytes_max, Notify consumer_ready, Notify credit_ready);

  enum class Push : uint8_t { kDone, kFull, kClosed };
  /// Takes `message` if fewer than `bytes_max` bytes are queued (so one message may exceed the bound), no sender waits and
  /// the channel is open. Otherwise leaves it alone.
  Push push(Message& message) { return push_as(Sender::kWillNotWait, message); }
  /// As push(), but if it returns kFull, the caller counts as a waiting sender from then on, until stop_waiting().
  Push push_or_wait(Message& message) { return push_as(Sender::kWillWait, message); }
  /// As push(), for the sender that has waited longest: takes `message` even if the channel is full, but not if closed.
  Push push_waiting(Message& message) { return push_as(Sender::kHasWaited, message); }
  void stop_waiting();
  void credit_noticed();
  bool has_credit() const;

  /// Returns the next message. If there is none yet, returns nothing, and consumer_ready() is called when one arrives. Once
  /// the channel is closed and empty, returns the reason of the close as error. Only the consumer may call this.
  Result<std::optional<Message>> pop_or_arm();
  std::optional<Message> pop();
  bool empty() const;

  /// Refuses all further messages; queued ones may still be popped. The first reason counts.
  void close(Error reason);
  /// Drops the queued messages.
  void discard();
  std::optional<Error> closed() const;

 private:
  enum class Sender : uint8_t { kWillNotWait, kWillWait, kHasWaited };
  Push push_as(Sender sender, Message& message);
  std::optional<Message> pop_locked(bool& notify);

  mutable std::mutex mutex_;
  // mutex_ guards all members below, except the notifications, which never change.
  MessageQueue queue_;
  const uint64_t bytes_max_;
  bool consumer_waits_ = false;
  int waiting_senders_ = 0;
  bool credit_announced_ = false;
  std::optional<Error> closed_;
  Notify consumer_ready_;
  Notify credit_ready_;
};

/// Call this on the senders' strand after credit_ready(): resumes waiting senders in order while the channel has room.
void release_senders(Channel& channel, WaitQueue& senders);

/// The next two functions implement Connection::send() and receive() with a channel. Call them on the strand of `waits`.
/// `peer` is the peer's name in errors.
Task<Result<void>> send_through(std::shared_ptr<Channel> channel, std::shared_ptr<WaitQueue> waits,
                                std::shared_ptr<const std::string> peer, Message message, Deadline deadline);
Task<Result<Message>> receive_through(std::shared_ptr<Channel> channel, std::shared_ptr<WaitQueue> waits,
                                      std::shared_ptr<const std::string> peer, Deadline deadline);

/// Converts the reason of a close to the error that waiting calls return. Cancelled, DeadlineExceeded and EndOfInput become
/// Unavailable; every other kind stays. Otherwise a caller would believe, for example, that its own deadline has passed,
/// and would call again at once, for ever.
Error closing_reason(Error reason);

}  // namespace shoal::transport
