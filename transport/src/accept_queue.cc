// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/accept_queue.h"

#include <utility>

namespace shoal::transport {

AcceptQueue::AcceptQueue(Environment& env, Endpoint endpoint, int connections_max)
    : endpoint_(std::move(endpoint)), connections_max_(connections_max), waits_(std::make_shared<WaitQueue>(env)) {}

std::shared_ptr<void> AcceptQueue::take_slot() {
  if (full()) return nullptr;
  ++*slots_taken_;
  return {slots_taken_.get(), [taken = slots_taken_](void*) { --*taken; }};
}

void AcceptQueue::push(std::unique_ptr<Connection> connection) {
  if (!open_) return connection->close(unavailable(to_string(endpoint_) + ": stopped listening"));
  ready_.push_back(std::move(connection));
  waits_->wake_first();
}

// Static, with parameters by value: the listener may be destroyed while this coroutine waits.
Task<Result<std::unique_ptr<Connection>>> AcceptQueue::accept_on(std::shared_ptr<AcceptQueue> self, Deadline deadline) {
  while (self->open_) {
    if (!self->ready_.empty()) {
      std::unique_ptr<Connection> connection = std::move(self->ready_.front());
      self->ready_.pop_front();
      co_return connection;
    }
    auto wait = self->waits_->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end == WaitEnd::kCancelled) co_return cancelled();
    if (end == WaitEnd::kDeadline) co_return deadline_exceeded(to_string(self->endpoint_) + ": nobody connected in time");
  }
  co_return cancelled();
}

void AcceptQueue::close() {
  open_ = false;
  for (const auto& connection : std::exchange(ready_, {}))
    connection->close(unavailable(to_string(endpoint_) + ": stopped listening"));
  waits_->stop();
}

}  // namespace shoal::transport
