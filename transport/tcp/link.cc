#include "link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace shoal::transport::tcp {
namespace {

// Received messages that may wait for their task before reading stops. One more may be on its way in.
constexpr uint64_t kReadAheadBytes = 256 * 1024;
// One turn of the event loop does not move more than this for one connection, so that others get theirs.
constexpr size_t kTurnBytes = size_t(16) << 20;
constexpr Duration kCloseTimeout = std::chrono::seconds(1);

/// A host that lost its power says nothing: without probes its connection would look alive until the next deadline.
void notice_dead_hosts(int socket) {
  constexpr int kOn = 1, kIdleSecs = 10, kIntervalSecs = 5, kProbes = 3;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSecs, sizeof kIdleSecs);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kIntervalSecs, sizeof kIntervalSecs);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
}

}  // namespace

Link::Link(std::shared_ptr<Core> core, Socket socket, Endpoint peer, const LinkOptions& options, bool checksum,
           std::shared_ptr<void> slot)
    : core_(std::move(core)),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      name_(std::make_shared<const std::string>(to_string(peer_))),
      checksum_(checksum),
      slot_(std::move(slot)),
      receive_bytes_max_(options.receive_bytes_max),
      outgoing_(
          options.send_queue_bytes_max,
          [this] {
            // A first message from the strand itself leaves at once; more of them gather while the socket is busy.
            if (core_->postbox->on_strand()) {
              flush();
            } else {
              later(&Link::flush);
            }
          },
          [this] {
            core_->postbox->post([self = shared_from_this()] { release_senders(self->outgoing_, *self->senders_); });
          }),
      incoming_(
          kReadAheadBytes,
          [this] {
            if (core_->open()) receiver_->wake_first();  // from the event loop only, never inside a call of the user's
          },
          [this] { later(&Link::end_stall); }),
      senders_(std::make_shared<WaitList>(core_->env)),
      receiver_(std::make_shared<WaitList>(core_->env)) {}

void Link::start() {
  core_->remember(shared_from_this());
  error_code ignored;
  socket_->non_blocking(true, ignored);
  socket_->set_option(asio::ip::tcp::no_delay(true), ignored);
  notice_dead_hosts(socket_->native_handle());
  flush();  // arms the channel
  wait_readable();
}

void Link::later(void (Link::*what)()) {
  core_->postbox->post([self = shared_from_this(), what] { ((*self).*what)(); });
}

// ---- closing -------------------------------------------------------------------------------------------------------------

void Link::close(Error reason) {
  outgoing_.close(closing_reason(std::move(reason)));  // from now on try_send() says no
  // On the strand what fits into the socket leaves now: the task may be at its end, and its loop not turn again.
  if (core_->postbox->on_strand()) begin_flushing();
  later(&Link::end_reading);
}

void Link::begin_flushing() {
  if (state_ != State::kOpen || !core_->open()) return;
  state_ = State::kFlushing;
  closing_timer_.emplace(core_->io, kCloseTimeout);
  closing_timer_->async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->fail(unavailable(*self->name_ + ": the peer took nothing any more"));
  });
  flush();
}

void Link::end_reading() {
  begin_flushing();
  if (state_ == State::kClosed || !core_->open()) return;
  stalled_.reset();
  in_ = ReadState();
  incoming_.close(*outgoing_.closed());
  if (!waits_readable_ && state_ != State::kClosed) discard_input();
}

void Link::fail(const Error& reason) {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  core_->forget(this);
  error_code ignored;
  if (socket_) socket_->close(ignored);
  closing_timer_.reset();
  slot_.reset();
  batch_.clear();
  in_ = ReadState();
  if (stalled_) incoming_.push_from_line(*stalled_);
  stalled_.reset();
  outgoing_.close(reason);
  outgoing_.discard();
  incoming_.close(*outgoing_.closed());  // our own reason if there was one: it came first
  senders_->stop();
  receiver_->stop();
}

void Link::shut_down(SteadyTime deadline) {
  const auto self = shared_from_this();
  const Error ended = unavailable(*name_ + ": the task has ended");
  outgoing_.close(ended);
  if (state_ == State::kOpen) state_ = State::kFlushing;
  while (state_ == State::kFlushing && socket_) {
    load_batch();
    const Progress progress = batch_.empty() ? Progress::kDone : write_some();
    if (progress == Progress::kDone || progress == Progress::kFailed) break;
    if (progress == Progress::kAgain) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - core_->env.now());
    pollfd writable{socket_->native_handle(), POLLOUT, 0};
    if (left.count() <= 0 || ::poll(&writable, 1, int(left.count())) <= 0) break;
  }
  // Unread input would turn the close into a reset, which may overtake what was just written.
  error_code error;
  if (socket_ && state_ != State::kClosed) {
    socket_->shutdown(Socket::shutdown_send, error);
    std::array<std::byte, 16384> scratch;
    for (int i = 0; i < 4096 && !error; ++i) socket_->read_some(asio::buffer(scratch), error);
  }
  fail(ended);
  socket_.reset();
}

// ---- writing -------------------------------------------------------------------------------------------------------------

void Link::flush() {
  const bool may_write = state_ == State::kOpen || state_ == State::kFlushing;
  if (!may_write || flushing_now_ || waits_writable_ || broken_ || !core_->open()) return;
  flushing_now_ = true;
  size_t turn_bytes = 0;
  Progress progress = Progress::kAgain;
  bool idle = false;
  while (progress == Progress::kAgain && !idle && turn_bytes < kTurnBytes) {
    load_batch();
    idle = batch_.empty();
    if (idle) break;
    turn_bytes += WriteBatch::kBytesMax;
    progress = write_some();
  }
  flushing_now_ = false;
  if (progress == Progress::kBlocked) {
    wait_writable();
  } else if (progress == Progress::kAgain && !idle) {
    later(&Link::flush);
  } else if (idle && final_loaded_) {
    finish_writing();
  }
}

void Link::load_batch() {
  if (!batch_.empty()) return;
  batch_.clear();
  Result<std::optional<Message>> next = outgoing_.pop_or_arm();
  while (next && *next) {
    batch_.add(std::move(**next), checksum_, false);
    if (!batch_.has_room()) return;
    next = outgoing_.pop();
  }
  if (!next && batch_.empty() && state_ == State::kFlushing && !std::exchange(final_loaded_, true))
    batch_.add(make_error(core_->env.buffers(), next.error()), checksum_, true);
}

Link::Progress Link::write_some() {
  error_code error;
  const size_t bytes = socket_->write_some(batch_.rest(), error);
  if (error == asio::error::would_block || error == asio::error::try_again) return Progress::kBlocked;
  if (error) {
    broken_ = lost(error);
    later(&Link::read);  // not here: a user's call may be what is writing. Reading first: the peer may have said why.
    return Progress::kFailed;
  }
  core_->counters.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  core_->counters.messages_sent.fetch_add(batch_.advance(bytes), std::memory_order_relaxed);
  return Progress::kAgain;
}

void Link::wait_writable() {
  waits_writable_ = true;
  socket_->async_wait(Socket::wait_write, [self = shared_from_this()](const error_code&) {
    self->waits_writable_ = false;
    self->flush();
  });
}

void Link::finish_writing() {
  state_ = State::kLingering;
  error_code ignored;
  socket_->shutdown(Socket::shutdown_send, ignored);
}

// ---- reading -------------------------------------------------------------------------------------------------------------

void Link::wait_readable() {
  if (waits_readable_ || state_ == State::kClosed || !core_->open()) return;
  waits_readable_ = true;
  socket_->async_wait(Socket::wait_read, [self = shared_from_this()](const error_code&) {
    self->waits_readable_ = false;
    self->read();
  });
}

void Link::read() {
  if (!core_->open()) return;
  const auto self = shared_from_this();  // whoever is woken may drop the connection
  size_t turn_bytes = 0;
  while (state_ == State::kOpen && !stalled_ && !outgoing_.closed()) {
    const size_t before = in_.body_have;
    const Progress progress = read_some();
    if (progress == Progress::kFailed || progress == Progress::kDone) break;
    if (progress == Progress::kBlocked) return wait_readable();
    turn_bytes += std::max<size_t>(kFrameBytes, in_.body_have - std::min(before, in_.body_have));
    if (turn_bytes >= kTurnBytes) return wait_readable();
  }
  if (broken_) return fail(*broken_);
  if (state_ == State::kFlushing || state_ == State::kLingering) discard_input();
}

Link::Progress Link::read_some() {
  // The rest of the body and the head that follows it, in one call: bodies arrive where they stay.
  std::array<asio::mutable_buffer, 2> into;
  size_t wanted = kFrameBytes - in_.head_have;
  if (in_.body) {
    into[0] = asio::buffer(in_.body->data() + in_.body_have, in_.body->size() - in_.body_have);
    wanted = into[0].size() + kFrameBytes;
    into[1] = asio::buffer(in_.head_bytes.data(), kFrameBytes);
  } else {
    into[0] = asio::buffer(in_.head_bytes.data() + in_.head_have, wanted);
  }
  error_code error;
  const size_t bytes = socket_->read_some(into, error);
  if (error == asio::error::would_block || error == asio::error::try_again) return broken_ ? Progress::kFailed : Progress::kBlocked;
  if (error) {
    fail(broken_ ? *broken_ : lost(error));
    return Progress::kFailed;
  }
  core_->counters.bytes_received.fetch_add(bytes, std::memory_order_relaxed);
  if (!take_bytes(bytes)) return Progress::kDone;
  return bytes < wanted && !broken_ ? Progress::kBlocked : Progress::kAgain;  // less than asked for: the socket is empty
}

bool Link::take_bytes(size_t bytes) {
  if (in_.body) {
    const size_t taken = std::min(bytes, in_.body->size() - in_.body_have);
    in_.body_have += taken;
    bytes -= taken;
    if (in_.body_have < in_.body->size()) return true;
    in_.head_have = bytes;  // of the next head, already in its place
    if (!take_body()) return false;
  } else {
    in_.head_have += bytes;
  }
  return in_.head_have < kFrameBytes || take_head();
}

bool Link::take_head() {
  const Result<Frame> frame = decode(in_.head_bytes);
  if (!frame) return close(frame.error().with_context(*name_)), false;
  in_.frame = *frame;
  const uint64_t bytes_max = frame->final ? 64 * 1024 : receive_bytes_max_.load(std::memory_order_relaxed);
  if (frame->body_bytes > bytes_max) {
    close(invalid_argument(*name_ + ": announced a message of " + std::to_string(frame->body_bytes) + " bytes, at most " +
                            std::to_string(bytes_max) + " are taken"));
    return false;
  }
  if (checksum_ && frame->body_bytes != 0 && !frame->checksummed)
    return close(data_loss(*name_ + ": sent a body without the agreed checksum")), false;
  in_.head_have = 0;
  if (frame->body_bytes == 0) return take_body();
  in_.body = core_->env.buffers().get(size_t(frame->body_bytes));
  in_.body_have = 0;
  return true;
}

bool Link::take_body() {
  Message message;
  message.head = in_.frame.head;
  message.body = std::exchange(in_.body, {});
  if (in_.frame.checksummed && message.body && checksum_of(message.body->bytes()) != in_.frame.checksum)
    return close(data_loss(*name_ + ": a message was damaged on its way: checksum differs")), false;
  if (const Result<void> verified = verify(message); !verified)
    return close(verified.error().with_context(*name_)), false;
  if (!in_.frame.final) return deliver(std::move(message));
  if (message.head.kind != MessageKind::kError)
    return close(data_loss(*name_ + ": the last frame is no error message")), false;
  fail(closing_reason(read_error(message)));
  return false;
}

bool Link::deliver(Message message) {
  core_->counters.messages_received.fetch_add(1, std::memory_order_relaxed);
  const Channel::Push pushed = incoming_.push_or_stand_in_line(message);
  if (pushed == Channel::Push::kFull) stalled_ = std::move(message);
  return pushed == Channel::Push::kDone && state_ == State::kOpen;
}

void Link::end_stall() {
  incoming_.credit_noticed();
  if (!stalled_) return;
  Message message = std::move(*std::exchange(stalled_, std::nullopt));
  incoming_.push_from_line(message);
  incoming_.leave_line();
  // The head of the next frame may be here already.
  if (state_ == State::kOpen && in_.head_have == kFrameBytes && !take_head()) return;
  read();
}

void Link::discard_input() {
  std::array<std::byte, 16384> scratch;
  error_code error;
  for (size_t bytes = 0; bytes < kTurnBytes;) {
    const size_t taken = socket_->read_some(asio::buffer(scratch), error);
    if (error) break;
    bytes += taken;
  }
  if (!error || error == asio::error::would_block || error == asio::error::try_again) return wait_readable();
  fail(lost(error));
}

Error Link::lost(const error_code& error) const {
  if (error == asio::error::eof) {
    return unavailable(*name_ + (in_.head_have == 0 && !in_.body ? ": the peer is gone; it gave no reason"
                                                                 : ": the peer is gone, in the middle of a message"));
  }
  return unavailable(*name_ + ": connection lost: " + error.message());
}

}  // namespace shoal::transport::tcp
