// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/channel.h"

namespace shoal::transport {

Channel::Channel(uint64_t bytes_max, Notify consumer_ready, Notify credit_ready)
    : bytes_max_(bytes_max), consumer_ready_(std::move(consumer_ready)), credit_ready_(std::move(credit_ready)) {}

Channel::Push Channel::push_as(Sender sender, Message& message) {
  bool notify = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Push::kClosed;
    if (sender != Sender::kHasWaited && (waiting_senders_ > 0 || queue_.bytes() >= bytes_max_)) {
      // Counts the sender before the lock is released, so that the sender is told of any room that becomes free afterwards.
      if (sender == Sender::kWillWait) ++waiting_senders_;
      return Push::kFull;
    }
    queue_.push(std::move(message));
    notify = std::exchange(consumer_waits_, false);
  }
  if (notify) consumer_ready_();
  return Push::kDone;
}

void Channel::stop_waiting() {
  std::lock_guard lock(mutex_);
  --waiting_senders_;
}

void Channel::credit_noticed() {
  std::lock_guard lock(mutex_);
  credit_announced_ = closed_.has_value();
}

bool Channel::has_credit() const {
  std::lock_guard lock(mutex_);
  return queue_.bytes() < bytes_max_;
}

std::optional<Message> Channel::pop_locked(bool& notify) {
  if (queue_.empty()) return std::nullopt;
  std::optional<Message> message(queue_.pop());
  notify = waiting_senders_ > 0 && !credit_announced_ && queue_.bytes() < bytes_max_;
  if (notify) credit_announced_ = true;
  return message;
}

std::optional<Message> Channel::pop() {
  bool notify = false;
  std::optional<Message> message;
  {
    std::lock_guard lock(mutex_);
    message = pop_locked(notify);
  }
  if (notify) credit_ready_();
  return message;
}

Result<std::optional<Message>> Channel::pop_or_arm() {
  bool notify = false;
  std::optional<Message> message;
  {
    std::lock_guard lock(mutex_);
    message = pop_locked(notify);
    if (!message && closed_) return *closed_;
    consumer_waits_ = !message;
  }
  if (notify) credit_ready_();
  return message;
}

bool Channel::empty() const {
  std::lock_guard lock(mutex_);
  return queue_.empty();
}

void Channel::close(Error reason) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = std::move(reason);
    consumer_waits_ = false;
    credit_announced_ = true;
  }
  consumer_ready_();
  credit_ready_();
}

void Channel::discard() {
  MessageQueue dropped;  // Destroyed after the lock is released: giving the bodies back to their owners may take time.
  std::lock_guard lock(mutex_);
  std::swap(dropped, queue_);
}

std::optional<Error> Channel::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

void release_senders(Channel& channel, WaitQueue& senders) {
  channel.credit_noticed();
  while (!senders.empty() && (channel.has_credit() || channel.closed())) senders.wake_first();
}

namespace {

// Counts one coroutine that waits for room in the channel, until it resumes or is destroyed.
class WaitingSender {
 public:
  explicit WaitingSender(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  ~WaitingSender() { channel_->stop_waiting(); }
  WaitingSender(const WaitingSender&) = delete;
  WaitingSender& operator=(const WaitingSender&) = delete;

 private:
  std::shared_ptr<Channel> channel_;
};

Error waited(WaitEnd end, const std::string& peer, std::string_view what) {
  if (end == WaitEnd::kCancelled) return cancelled();
  return deadline_exceeded(peer + ": " + std::string(what));
}

}  // namespace

Task<Result<void>> send_through(std::shared_ptr<Channel> channel, std::shared_ptr<WaitQueue> waits,
                                std::shared_ptr<const std::string> peer, Message message, Deadline deadline) {
  Channel::Push pushed = channel->push_or_wait(message);
  if (pushed == Channel::Push::kFull) {
    WaitingSender waiting(channel);
    auto wait = waits->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end != WaitEnd::kWoken) co_return waited(end, *peer, "the peer does not accept messages");
    pushed = channel->push_waiting(message);
  }
  if (pushed == Channel::Push::kClosed) co_return *channel->closed();
  co_return Result<void>();
}

Task<Result<Message>> receive_through(std::shared_ptr<Channel> channel, std::shared_ptr<WaitQueue> waits,
                                      std::shared_ptr<const std::string> peer, Deadline deadline) {
  while (true) {
    Result<std::optional<Message>> popped = channel->pop_or_arm();
    if (!popped) co_return std::move(popped).error();
    if (*popped) co_return std::move(**popped);
    auto wait = waits->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end != WaitEnd::kWoken) co_return waited(end, *peer, "no message came in time");
  }
}

Error closing_reason(Error reason) {
  switch (reason.kind()) {
    case ErrorKind::kCancelled:
    case ErrorKind::kDeadlineExceeded:
    case ErrorKind::kEndOfInput: return unavailable(reason.message());
    default: return reason;
  }
}

}  // namespace shoal::transport
