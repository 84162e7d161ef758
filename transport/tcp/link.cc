#include "link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace shoal::transport::tcp {
namespace {

// Received messages that may wait for their task before reading stops. One more may be on its way in.
constexpr uint64_t kReadAheadBytes = 256 * 1024;
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

Preamble preamble_of(const LinkOptions& options, bool checksum) {
  return {.checksum = checksum, .heartbeat = std::chrono::milliseconds(heartbeat_ms(options))};
}

LinkTerms agree(const Preamble& ours, const Preamble& theirs) {
  return {.checksum = ours.checksum || theirs.checksum, .heartbeat = {ours.heartbeat, theirs.heartbeat}};
}

Link::Link(std::shared_ptr<Core> core, Stream stream, Endpoint peer, const LinkOptions& options, const LinkTerms& terms,
           std::shared_ptr<void> slot)
    : core_(std::move(core)),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      identity_(stream_->identity()),
      name_(std::make_shared<const std::string>(to_string(peer_))),
      checksum_(terms.checksum),
      heartbeat_(terms.heartbeat, core_->env.now()),
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
      senders_(std::make_shared<WaitQueue>(core_->env)),
      receiver_(std::make_shared<WaitQueue>(core_->env)) {}

void Link::start() {
  core_->remember(shared_from_this());
  notice_dead_hosts(stream_->socket().native_handle());
  flush();    // arms the channel
  read_on();  // what came with the handshake's last bytes
  if (!heartbeat_.enabled()) return;
  heartbeat_timer_.emplace(core_->io);
  check_heartbeat();
}

void Link::later(void (Link::*what)()) {
  core_->postbox->post([self = shared_from_this(), what] { ((*self).*what)(); });
}

/// From the event loop, so a task that computes, or waits for its disk, is heard of all the same.
void Link::check_heartbeat() {
  if (state_ != State::kOpen || !core_->open()) return;
  const auto self = shared_from_this();  // reading may wake who drops the connection
  const SteadyTime now = core_->env.now();
  if (stalled_) heartbeat_.restart_silence(now);  // nothing is read now
  if (heartbeat_.is_silent(now)) read();          // was it we who slept? Then what the peer said lies in the socket.
  if (state_ != State::kOpen) return;
  if (heartbeat_.is_silent(now)) return close(heartbeat_.silence_of(*name_));
  if (heartbeat_.is_due(now)) {
    if (nothing_to_write() && outgoing_.empty()) batch_.add_heartbeat();
    flush();
    heartbeat_.sent(now);  // or it could not be said: the peer is not reading, and what it will read says it
  }
  heartbeat_timer_->expires_after(heartbeat_.next() - now);
  heartbeat_timer_->async_wait([self](const error_code& error) {
    if (!error) self->check_heartbeat();
  });
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
  if (stream_) stream_->close();
  closing_timer_.reset();
  heartbeat_timer_.reset();
  slot_.reset();
  batch_.clear();
  in_ = ReadState();
  if (stalled_) incoming_.push_waiting(*stalled_);
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
  while (state_ == State::kFlushing && stream_) {
    load_batch();
    const Progress progress = nothing_to_write() ? Progress::kDone : write_some();
    if (progress == Progress::kDone || progress == Progress::kFailed) break;
    if (progress == Progress::kAgain) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - core_->env.now());
    pollfd writable{stream_->socket().native_handle(), POLLOUT, 0};
    if (left.count() <= 0 || ::poll(&writable, 1, int(left.count())) <= 0) break;
  }
  // Unread input would turn the close into a reset, which may overtake what was just written.
  error_code error;
  if (stream_ && state_ != State::kClosed) {
    stream_->end_writing();
    std::array<std::byte, 16384> scratch;
    for (int i = 0; i < 4096 && !error; ++i) stream_->socket().read_some(asio::buffer(scratch), error);
  }
  fail(ended);
  stream_.reset();
}

}  // namespace shoal::transport::tcp
