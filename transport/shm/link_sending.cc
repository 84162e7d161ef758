// SPDX-License-Identifier: Apache-2.0
/// The sending half of a link: moves messages from its queue into the ring while there is room.
#include <cstring>

#include "link.h"

namespace shoal::transport::shm {

void Link::flush() {
  const bool may_send = state_ == State::kOpen || state_ == State::kFlushing;
  if (may_send && !waits_writable_ && !broken_ && core_->open()) {
    const Filled filled = fill_ring();
    if (filled == Filled::kAllSent) state_ = State::kLingering;
    if (filled == Filled::kSocketFull) wait_writable();
    // This may run inside of a caller's send(), so the event loop handles the error in a later turn.
    if (filled == Filled::kBroken) wake_soon();
  }
  prepare_to_sleep();
}

Link::Filled Link::fill_ring() {
  Filled filled = Filled::kIdle;
  while (load_next()) {
    // Takes back the buffers that the peer has read. A task that sends without a pause then reuses them while they are in
    // the CPU's cache.
    take_back();
    const Result<bool> room = outbox_->has_room();
    filled = Filled::kBlocked;
    if (!room) broken_ = room.error().with_context(*name_);
    if (broken_ || !*room) break;
    const Result<void> reachable = make_reachable(*next_);
    const Result<Outbox::Put> put = reachable ? outbox_->put(*next_, next_is_farewell_) : reachable.error();
    if (!put) broken_ = put.error().with_context(*name_);
    if (!put || *put == Outbox::Put::kGone) filled = Filled::kGone;
    if (put && *put == Outbox::Put::kSocketFull) filled = Filled::kSocketFull;
    if (filled != Filled::kBlocked) break;
    core_->counters.messages_sent.fetch_add(1, std::memory_order_relaxed);
    core_->counters.bytes_sent.fetch_add(next_->body_bytes(), std::memory_order_relaxed);
    next_.reset();
    filled = next_is_farewell_ ? Filled::kAllSent : Filled::kIdle;
  }
  return broken_ ? Filled::kBroken : filled;
}

// Loads the next message to send; after the last of the queue, the farewell message.
bool Link::load_next() {
  if (next_ || next_is_farewell_) return next_.has_value();
  Result<std::optional<Message>> popped = outgoing_.pop_or_arm();
  if (popped) {
    next_ = std::move(*popped);
  } else if (state_ == State::kFlushing) {
    next_ = make_error(core_->env.buffers(), popped.error());
    next_is_farewell_ = true;
  }
  return next_.has_value();
}

// Copies a body that was built elsewhere, or that came from another peer, to memory that this peer can read. Fails if a
// limit of the system is met. The error's kind then makes the task end, since another connection would meet the same limit.
Result<void> Link::make_reachable(Message& message) {
  if (outbox_->can_reach(message)) return {};
  core_->counters.bytes_copied.fetch_add(message.payload().size(), std::memory_order_relaxed);
  if (message.body->rest().empty()) {
    Ref<Buffer> copy = core_->env.buffers().get(message.body->size());
    std::memcpy(copy->data(), message.body->data(), message.body->size());
    message.body = std::move(copy);
  } else {
    message.body = whole_body(core_->env.buffers(), message.body);
  }
  if (outbox_->can_reach(message)) return {};
  const Error why = memory_->last_failure().value_or(internal_error("the system grants no more"));
  return Error(why.kind(), "no shared memory is left for a message of " + std::to_string(message.body_bytes()) +
                               " bytes: " + why.message() + ", or use --transport tcp");
}

void Link::wait_writable() {
  waits_writable_ = true;
  socket_->async_wait(Watched::wait_write, [self = stream::self_of(this)](const error_code&) {
    self->waits_writable_ = false;
    self->flush();
  });
}

}  // namespace shoal::transport::shm
