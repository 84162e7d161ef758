// SPDX-License-Identifier: Apache-2.0
#include "stream/link.h"

namespace shoal::transport::stream {
namespace {

// The bytes of received messages that may wait for the task before reading pauses. One more message may be arriving.
constexpr uint64_t kReadAheadBytes = 256 * 1024;
constexpr uint64_t kFarewellBytesMax = 64 * 1024;
constexpr Duration kCloseTimeout = std::chrono::seconds(1);

}  // namespace

Link::Link(std::shared_ptr<Core> core, Peer peer, const LinkOptions& options, std::shared_ptr<void> slot)
    : core_(std::move(core)),
      name_(std::make_shared<const std::string>(to_string(peer.endpoint))),
      heartbeat_(peer.heartbeat, core_->env.now()),
      outgoing_(
          options.send_queue_bytes_max,
          [this] {
            // Called when a message was added to outgoing_ while that was empty. On the strand, sends the message at once.
            // Further messages collect in outgoing_ while they cannot be sent.
            if (core_->postbox->on_strand()) {
              flush();
            } else {
              later(&Link::flush);
            }
          },
          [this] {
            core_->postbox->post([self = shared_from_this()] { release_senders(self->outgoing_, *self->senders_); });
          }),
      peer_(std::move(peer.endpoint)),
      identity_(std::move(peer.identity)),
      slot_(std::move(slot)),
      receive_bytes_max_(options.receive_bytes_max),
      incoming_(
          kReadAheadBytes,
          [this] {
            // Only the event loop calls this function, so it may resume the coroutine that waits in receive().
            if (core_->open()) receiver_->wake_first();
          },
          [this] { later(&Link::end_stall); }),
      senders_(std::make_shared<WaitQueue>(core_->env)),
      receiver_(std::make_shared<WaitQueue>(core_->env)) {}

void Link::start() {
  core_->remember(shared_from_this());
  begin();
  if (state_ == State::kClosed || !heartbeat_.enabled()) return;
  heartbeat_timer_.emplace(core_->io);
  check_heartbeat();
}

/// Runs in the event loop, so a task that computes or waits for its disk still sends heartbeats.
void Link::check_heartbeat() {
  if (!may_judge()) return;
  const auto self = shared_from_this();  // look_for_heartbeat() may wake a coroutine that drops the connection.
  const SteadyTime now = core_->env.now();
  look_for_heartbeat(now);
  if (!may_judge()) return;
  if (heartbeat_.is_silent(now)) return close(heartbeat_.silence_of(*name_));
  if (heartbeat_.is_due(now)) {
    send_heartbeat();
    // If there was no room for the heartbeat, other bytes are on their way, which also show the peer that this side lives.
    heartbeat_.sent(now);
  }
  heartbeat_timer_->expires_after(heartbeat_.next() - now);
  heartbeat_timer_->async_wait([self](const error_code& error) {
    if (!error) self->check_heartbeat();
  });
}

// ---- receiving ------------------------------------------------------------------------------------------------------

bool Link::deliver(Message message) {
  const Channel::Push pushed = incoming_.push_or_wait(message);
  if (pushed == Channel::Push::kFull) stalled_ = std::move(message);
  return pushed == Channel::Push::kDone;
}

void Link::end_stall() {
  incoming_.credit_noticed();
  if (!stalled_) return;
  Message message = std::move(*std::exchange(stalled_, std::nullopt));
  incoming_.push_waiting(message);
  incoming_.stop_waiting();
  resume_reading();
}

uint64_t Link::bytes_max(bool farewell) const {
  return farewell ? kFarewellBytesMax : receive_bytes_max_.load(std::memory_order_relaxed);
}

Result<void> Link::take_farewell(const Message& message) {
  if (message.head.kind != MessageKind::kError) return data_loss("the farewell message is not an error message");
  fail(closing_reason(read_error(message)));
  return {};
}

// ---- closing --------------------------------------------------------------------------------------------------------

void Link::close(Error reason) {
  outgoing_.close(closing_reason(std::move(reason)));  // Makes try_send() return false.
  // On the strand, sends at once what the peer can take now. The event loop could send it later, but does not run again if
  // the task ends next.
  if (core_->postbox->on_strand()) begin_flushing();
  later(&Link::end_reading);
}

void Link::begin_flushing() {
  if (state_ != State::kOpen || !core_->open()) return;
  state_ = State::kFlushing;
  closing_timer_.emplace(core_->io, kCloseTimeout);
  closing_timer_->async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->fail(unavailable(*self->name_ + ": the peer accepted no more data"));
  });
  flush();
}

void Link::end_reading() {
  begin_flushing();
  if (state_ == State::kClosed || !core_->open()) return;
  stalled_.reset();
  incoming_.close(*outgoing_.closed());
  stop_reading();
}

void Link::fail(const Error& reason) {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  core_->forget(this);
  release();
  closing_timer_.reset();
  heartbeat_timer_.reset();
  slot_.reset();
  if (stalled_) incoming_.push_waiting(*stalled_);
  stalled_.reset();
  outgoing_.close(reason);
  outgoing_.discard();
  // If this side had closed the connection before, outgoing_ still has the reason of that close, and receivers get it too.
  incoming_.close(*outgoing_.closed());
  senders_->stop();
  receiver_->stop();
}

void Link::shut_down(SteadyTime deadline) {
  const auto self = shared_from_this();
  const Error ended = unavailable(*name_ + ": the task has ended");
  outgoing_.close(ended);
  if (state_ == State::kOpen) state_ = State::kFlushing;
  flush_until(deadline);
  fail(ended);
}

// ---- the Connection that a task gets --------------------------------------------------------------------------------

namespace {

class LinkConnection final : public Connection {
 public:
  explicit LinkConnection(std::shared_ptr<Link> link)
      : link_(std::move(link)), outgoing_(link_->outgoing()), incoming_(link_->incoming()) {}
  ~LinkConnection() override { link_->close(unavailable(*link_->name() + ": the connection was closed")); }

  const Endpoint& peer() const override { return link_->peer(); }
  std::optional<PeerIdentity> identity() const override { return link_->identity(); }
  SteadyTime heard() const override { return link_->heard(); }
  bool try_send(Message& message) override { return outgoing_->push(message) == Channel::Push::kDone; }
  Task<Result<void>> send(Message message, Deadline deadline) override {
    return send_through(outgoing_, link_->senders(), link_->name(), std::move(message), deadline);
  }
  Task<Result<Message>> receive(Deadline deadline) override {
    return receive_through(incoming_, link_->receiver(), link_->name(), deadline);
  }
  void close(Error reason) override { link_->close(std::move(reason)); }
  void set_receive_limit(uint64_t bytes) override { link_->set_receive_limit(bytes); }

 private:
  std::shared_ptr<Link> link_;
  std::shared_ptr<Channel> outgoing_;
  std::shared_ptr<Channel> incoming_;
};

}  // namespace

std::unique_ptr<Connection> make_connection(std::shared_ptr<Link> link) {
  return std::make_unique<LinkConnection>(std::move(link));
}

}  // namespace shoal::transport::stream
