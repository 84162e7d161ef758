// SPDX-License-Identifier: Apache-2.0
#include "stream/attempt.h"

namespace shoal::transport::stream {

Attempt::Attempt(std::shared_ptr<Core> core, Endpoint to, LinkOptions options)
    : core_(std::move(core)),
      to_(std::move(to)),
      options_(std::move(options)),
      waits_(std::make_shared<WaitQueue>(core_->env)) {}

void Attempt::start() {
  core_->remember(shared_from_this());
  begin();
}

void Attempt::limit_handshake() {
  timer_.emplace(core_->io, options_.handshake_timeout);
  timer_->async_wait([self = shared_from_this()](const error_code& failed) {
    if (!failed && !self->done())
      self->fail(
          unavailable(self->sentence("a process listens there but does not answer in time; is it stopped, or very busy?")));
  });
}

void Attempt::connected(std::shared_ptr<Link> link) {
  link->start();
  finish(std::move(link));
}

void Attempt::finish(Result<std::shared_ptr<Link>> result) {
  result_ = std::move(result);
  release();
  waits_->wake_first();
}

void Attempt::cancel() {
  release();
  if (result_ && *result_) (**result_)->close(cancelled());
  result_.reset();
  waits_->stop();
}

void Attempt::release() {
  timer_.reset();
  close_sockets();
  core_->forget(this);
}

Task<Result<std::unique_ptr<Connection>>> connect_by(std::shared_ptr<Attempt> attempt, Endpoint to, Deadline deadline) {
  // If the coroutine is destroyed while it waits, the attempt has to close its socket.
  struct CancelOnExit {
    Attempt& attempt;
    explicit CancelOnExit(Attempt& what) : attempt(what) {}
    ~CancelOnExit() { attempt.cancel(); }
    CancelOnExit(const CancelOnExit&) = delete;
    CancelOnExit& operator=(const CancelOnExit&) = delete;
  };
  CancelOnExit guard(*attempt);
  attempt->start();
  while (!attempt->done()) {
    auto wait = attempt->waits()->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end == WaitEnd::kCancelled) co_return cancelled();
    if (end == WaitEnd::kDeadline && !attempt->done()) {
      co_return deadline_exceeded(to_string(to) + ": not connected in time");
    }
  }
  auto link = attempt->take();
  if (!link) co_return std::move(link).error();
  co_return make_connection(std::move(*link));
}

}  // namespace shoal::transport::stream
