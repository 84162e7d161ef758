// SPDX-License-Identifier: Apache-2.0
// The receiving half of Link, which is one tcp connection.
#include "link.h"

#include <algorithm>

namespace shoal::transport::tcp {

void Link::wait_readable() {
  if (waits_readable_ || state_ == State::kClosed || !core_->open()) return;
  waits_readable_ = true;
  stream_->socket().async_wait(Socket::wait_read, [self = stream::self_of(this)](const error_code&) {
    self->waits_readable_ = false;
    self->read();
  });
}

/// Continues reading after a pause. The socket does not report bytes that TLS has read ahead, so these are checked first.
void Link::read_on() {
  if (stream_->read_ahead()) {
    later(&Link::read);
  } else {
    wait_readable();
  }
}

void Link::read() {
  if (!core_->open()) return;
  const auto self = shared_from_this();  // Keeps the link alive if a coroutine that is woken below drops its Connection.
  size_t turn_bytes = 0;
  while (state_ == State::kOpen && !stalled_ && !outgoing_.closed()) {
    const size_t before = in_.body_have;
    const Progress progress = read_some();
    if (progress == Progress::kFailed || progress == Progress::kDone) break;
    if (progress == Progress::kBlocked) return wait_readable();
    turn_bytes += std::max<size_t>(kFrameBytes, in_.body_have - std::min(before, in_.body_have));
    if (turn_bytes >= kTurnBytes) return read_on();
  }
  if (broken_) return fail(*broken_);
  if (state_ == State::kFlushing || state_ == State::kLingering) discard_input();
}

Link::Progress Link::read_some() {
  // Reads the remaining bytes of a message's body and the head of the next message in one call. The body is read straight
  // into the buffer that the message will own.
  std::array<asio::mutable_buffer, 2> into;
  size_t wanted = kFrameBytes - in_.head_have;
  if (in_.body) {
    const size_t rest = in_.body->size() - in_.body_have;
    wanted = std::min(rest, kCallBytes);
    into[0] = asio::buffer(in_.body->data() + in_.body_have, wanted);
    if (wanted == rest) into[1] = asio::buffer(in_.head_bytes.data(), kFrameBytes);
    wanted += into[1].size();
  } else {
    into[0] = asio::buffer(in_.head_bytes.data() + in_.head_have, wanted);
  }
  error_code error;
  const size_t bytes = stream_->read_some(into, error);
  if (would_block(error)) return broken_ ? Progress::kFailed : Progress::kBlocked;
  if (error) {
    fail(broken_ ? *broken_ : lost(error));
    return Progress::kFailed;
  }
  heartbeat_.received(core_->env.now());
  core_->counters.bytes_received.fetch_add(bytes, std::memory_order_relaxed);
  if (!take_bytes(bytes)) return Progress::kDone;
  // A short read means that the socket is empty; with TLS it only means the end of a record.
  return bytes < wanted && !broken_ && !stream_->encrypted() ? Progress::kBlocked : Progress::kAgain;
}

bool Link::take_bytes(size_t bytes) {
  if (in_.body) {
    const size_t taken = std::min(bytes, in_.body->size() - in_.body_have);
    in_.body_have += taken;
    bytes -= taken;
    if (in_.body_have < in_.body->size()) return true;
    // The read has put the remaining bytes into head_bytes already: they are the beginning of the next frame's head.
    in_.head_have = bytes;
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
  if (frame->heartbeat) {
    if (frame->body_bytes != 0) return close(data_loss(*name_ + ": sent a heartbeat with a body")), false;
    in_.head_have = 0;
    return true;
  }
  const uint64_t limit = bytes_max(frame->farewell);
  if (frame->body_bytes > limit) {
    close(invalid_argument(*name_ + ": announced a message of " + std::to_string(frame->body_bytes) +
                           " bytes, but at most " + std::to_string(limit) + " bytes are accepted"));
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
  if (const Result<void> verified = verify(message); !verified) return close(verified.error().with_context(*name_)), false;
  if (!in_.frame.farewell) {
    core_->counters.messages_received.fetch_add(1, std::memory_order_relaxed);
    return deliver(std::move(message)) && state_ == State::kOpen;
  }
  if (const Result<void> taken = take_farewell(message); !taken) close(taken.error().with_context(*name_));
  return false;
}

void Link::resume_reading() {
  // Counts the peer's silence from now on, because nothing was read while reading was paused.
  heartbeat_.restart_silence(core_->env.now());
  // The head of the next frame may be complete already.
  if (state_ == State::kOpen && in_.head_have == kFrameBytes && !take_head()) return;
  read();
}

void Link::discard_input() {
  std::array<std::byte, 16384> scratch;
  error_code error;
  for (size_t bytes = 0; bytes < kTurnBytes;) {
    // Reads from the socket and not through TLS: bytes that are dropped need not be decrypted.
    const size_t taken = stream_->socket().read_some(asio::buffer(scratch), error);
    if (error) break;
    bytes += taken;
  }
  if (!error || would_block(error)) return wait_readable();
  fail(lost(error));
}

Error Link::lost(const error_code& error) const {
  if (error == asio::error::eof) {
    return unavailable(*name_ + (in_.head_have == 0 && !in_.body ? ": the peer is gone; it gave no reason"
                                                                 : ": the peer went away in the middle of a message"));
  }
  return unavailable(*name_ + ": connection lost: " + stream_->describe(error));
}

}  // namespace shoal::transport::tcp
