// SPDX-License-Identifier: Apache-2.0
// The sending half of a link.
#include "link.h"

namespace shoal::transport::tcp {

void Link::flush() {
  const bool may_write = state_ == State::kOpen || state_ == State::kFlushing;
  if (!may_write || flushing_now_ || waits_writable_ || broken_ || !core_->open()) return;
  flushing_now_ = true;
  size_t turn_bytes = 0;
  Progress progress = Progress::kAgain;
  bool idle = false;
  while (progress == Progress::kAgain && !idle && turn_bytes < kTurnBytes) {
    load_batch();
    idle = nothing_to_write();
    if (idle) break;
    turn_bytes += WriteBatch::kBytesMax;
    progress = write_some();
  }
  flushing_now_ = false;
  if (progress == Progress::kBlocked) {
    wait_writable();
  } else if (progress == Progress::kAgain && !idle) {
    later(&Link::flush);
  } else if (idle && farewell_loaded_) {
    finish_writing();
  }
}

void Link::load_batch() {
  if (!batch_.empty()) return;
  batch_.clear();
  Result<std::optional<Message>> next = outgoing_.pop_or_arm();
  while (next && *next) {
    Message& message = **next;
    // If the payload does not lie in the body's buffer (it was received over shm, for example), both are copied into one.
    if (message.body && !message.body->rest().empty()) {
      core_->counters.bytes_copied.fetch_add(message.payload().size(), std::memory_order_relaxed);
      message.body = whole_body(core_->env.buffers(), message.body);
    }
    batch_.add(std::move(message), checksum_, false);
    if (!batch_.has_room()) return;
    next = outgoing_.pop();
  }
  if (!next && batch_.empty() && state_ == State::kFlushing && !std::exchange(farewell_loaded_, true))
    batch_.add(make_error(core_->env.buffers(), next.error()), checksum_, true);
}

Link::Progress Link::write_some() {
  error_code error;
  const size_t bytes = stream_->write_some(batch_.rest(), error);
  if (would_block(error)) return Progress::kBlocked;
  if (error) {
    broken_ = lost(error);
    // This function may run inside of a caller's send(), so the event loop handles the error later. It calls read() first,
    // because the peer may have sent the reason for which it closed the connection.
    later(&Link::read);
    return Progress::kFailed;
  }
  if (bytes > 0) heartbeat_.sent(core_->env.now());
  core_->counters.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  core_->counters.messages_sent.fetch_add(batch_.advance(bytes), std::memory_order_relaxed);
  return Progress::kAgain;
}

void Link::wait_writable() {
  waits_writable_ = true;
  stream_->socket().async_wait(Socket::wait_write, [self = stream::self_of(this)](const error_code&) {
    self->waits_writable_ = false;
    self->flush();
  });
}

void Link::finish_writing() {
  state_ = State::kLingering;
  stream_->end_writing();
}

}  // namespace shoal::transport::tcp
