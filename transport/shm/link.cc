// SPDX-License-Identifier: Apache-2.0
#include "link.h"

#include <poll.h>

#include <cstring>

#include "control.h"
#include "shoal/base/event_loop.h"

namespace shoal::transport::shm {

Link::Link(const std::shared_ptr<Core>& core, HandshakeResult handshake, const LinkOptions& options,
           std::shared_ptr<void> slot)
    : stream::Link(core, {.endpoint = std::move(handshake.peer), .heartbeat = handshake.heartbeat}, options,
                   std::move(slot)),
      spin_(event_loop_spin(core->env)),
      memory_(core->memory),
      rings_(std::make_shared<const Rings>(std::move(handshake.rings), handshake.side)),
      bell_(std::make_shared<Doorbell>(rings_, handshake.socket.get())),
      inbox_(std::make_shared<Inbox>(rings_, bell_)) {
  outbox_.emplace(rings_, bell_, core->memory, handshake.socket.get());
  socket_.emplace(core->io);
  error_code error;
  socket_->assign(handshake.socket.get(), error);
  if (!error) handshake.socket.release();
}

void Link::begin() {
  if (!socket_->is_open()) return fail(unavailable(*name_ + ": its socket cannot be watched"));
  flush();  // Sends the messages queued so far. From now on, a callback of outgoing_ sends each new one.
  wait_notice();
}

// ---- closing -------------------------------------------------------------------------------------------------------

void Link::stop_reading() {
  if (gone_) fail(unavailable(*name_ + ": the peer is gone"));
}

void Link::release() {
  next_.reset();
  outbox_.reset();
  inbox_->forget_all();
  bell_->close();
  socket_.reset();
}

void Link::flush_until(SteadyTime deadline) {
  while (state_ == State::kFlushing && !gone_) {
    const Filled filled = fill_ring();
    if (filled != Filled::kBlocked && filled != Filled::kSocketFull) break;
    rings_->our_wants().store(kRoom | kSlotsBack);
    const Result<bool> room = outbox_->has_room();
    if (!room || (*room && filled == Filled::kBlocked)) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - core_->env.now());
    pollfd readable{socket_->native_handle(), short(filled == Filled::kSocketFull ? POLLIN | POLLOUT : POLLIN), 0};
    if (left.count() <= 0 || ::poll(&readable, 1, int(left.count())) <= 0) break;
    while (take_notice()) {
    }
  }
}

// ---- the control socket --------------------------------------------------------------------------------------------

void Link::wait_notice() {
  if (waits_notice_ || gone_ || state_ == State::kClosed || !core_->open()) return;
  waits_notice_ = true;
  socket_->async_wait(Watched::wait_read, [self = stream::self_of(this)](const error_code&) {
    self->waits_notice_ = false;
    self->read_notice();
  });
}

void Link::read_notice() {
  if (state_ == State::kClosed || !core_->open()) return;
  take_notice();  // Reads one datagram; if there are more, the event loop calls again at once.
  wait_notice();
  pump();
}

bool Link::take_notice() {
  const Datagram datagram = receive_datagram(socket_->native_handle());
  gone_ = gone_ || datagram.kind == Datagram::Kind::kEnd;
  if (datagram.kind != Datagram::Kind::kData) return false;
  heartbeat_.received(core_->env.now());
  if (state_ != State::kOpen) return true;  // This side is closing, and ignores notices of the peer.
  if (const Result<void> understood = understand(datagram); !understood) protocol_error(understood.error());
  return true;
}

Result<void> Link::understand(const Datagram& datagram) {
  Notice notice{.kind = 0};
  if (datagram.bytes == kRingBytes || datagram.bytes == sizeof notice)
    std::memcpy(&notice, datagram.data.data(), datagram.bytes);
  if (notice.kind == Notice::kRing && datagram.bytes == kRingBytes) return {};
  if (notice.kind == Notice::kSegment && datagram.bytes == sizeof notice)
    return inbox_->add_segment(notice.id, notice.bytes, datagram.file);
  if (notice.kind != Notice::kForget || datagram.bytes != sizeof notice)
    return data_loss("sent a notice that this protocol does not have");
  inbox_->forget_segment(notice.id);
  return {};
}

/// If the peer seems silent, reads a datagram, which would show that the peer still runs. A message in shared memory shows
/// nothing, since the peer may have been stopped after it wrote the message.
void Link::look_for_heartbeat(SteadyTime now) {
  if (heartbeat_.is_silent(now)) read_notice();
}

void Link::send_heartbeat() {
  const Notice notice;
  // If the socket is full, it contains other datagrams, which also show that this side lives.
  (void)send_datagram(socket_->native_handle(), std::as_bytes(std::span(&notice, 1)).first(kRingBytes));
}

// ---- receiving -----------------------------------------------------------------------------------------------------

void Link::pump() {
  pump_posted_ = false;
  const auto self = shared_from_this();  // Keeps this object alive: resumed coroutines may drop the connection.
  if (state_ == State::kClosed || !core_->open()) return;
  take_back();
  read();
  if (state_ == State::kClosed) return;
  if (broken_) return fail(*broken_);
  if (gone_ && input_is_over()) return fail(unavailable(*name_ + ": the peer is gone; it gave no reason"));
  flush();
}

void Link::take_back() {
  if (const Result<bool> back = outbox_->take_back(); !back) broken_ = back.error().with_context(*name_);
}

bool Link::input_is_over() const {
  if (state_ != State::kOpen || outgoing_.closed()) return true;
  if (stalled_) return false;
  const auto next = inbox_->peek();
  return !next || !*next;
}

void Link::read() {
  for (uint32_t count = 0; reads() && count < kDescriptors; ++count) {
    const Result<std::optional<Descriptor>> next = inbox_->peek();
    if (!next) return protocol_error(next.error());
    if (!*next) return;
    // The peer announces each segment of shared memory by a datagram before it sends a message that lies in the segment. So
    // if this side does not know the message's segment yet, the datagram is waiting in the socket.
    while ((*next)->has_body && !inbox_->knows_segment((*next)->segment) && reads() && take_notice()) {
    }
    if (!reads()) return;
    // Before it sent the message, the peer may have returned buffers of this side. Takes them back first, so that the task
    // that gets the message can use them for its answer.
    take_back();
    spin_until_ = core_->env.now() + spin_;
    if (const Result<void> taken = take(**next); !taken) return protocol_error(taken.error());
  }
}

Result<void> Link::take(const Descriptor& next) {
  SHOAL_TRY(Message message, inbox_->take(next, bytes_max(next.farewell), core_->env.buffers()));
  SHOAL_TRY_VOID(verify(message));
  core_->counters.messages_received.fetch_add(1, std::memory_order_relaxed);
  core_->counters.bytes_received.fetch_add(message.body_bytes(), std::memory_order_relaxed);
  if (next.farewell) return take_farewell(message);
  deliver(std::move(message));
  return {};
}

// ---- sleeping ------------------------------------------------------------------------------------------------------

// Tells the peer for which events to wake this side, and then checks once more whether one of them has happened already.
void Link::prepare_to_sleep() {
  if (state_ == State::kClosed || pump_posted_ || !core_->open()) return;
  if (core_->env.now() < spin_until_) {
    rings_->our_wants().store(0);
    return wake_soon();
  }
  uint32_t wants = kMemory;
  if (reads()) wants |= kMessages;
  if (next_) wants |= kRoom | kSlotsBack;
  rings_->our_wants().store(wants);
  if (!work_waits()) return;
  rings_->our_wants().store(0);
  wake_soon();
}

bool Link::work_waits() {
  const Result<bool> back = outbox_->take_back();
  const auto arrived = inbox_->peek();
  const Result<bool> room = outbox_->has_room();
  return !back || (reads() && (!arrived || *arrived)) || (next_ && !waits_writable_ && (!room || *room));
}

void Link::wake_soon() {
  if (!std::exchange(pump_posted_, true)) later(&Link::pump);
}

}  // namespace shoal::transport::shm
