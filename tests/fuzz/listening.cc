// SPDX-License-Identifier: Apache-2.0
#include "listening.h"

#include "body.h"
#include "shoal/base/production.h"
#include "shoal/transport/registry.h"

namespace shoal::fuzz {

using transport::Connection;
using transport::Message;

Listening::Listening(const transport::Endpoint& at)
    : env_(make_production_environment({.sink = [](const LogRecord&) {}, .transports = transport::built_in_transports()})),
      group_(*env_) {
  const Result<transport::Transport*> found = env_->transport(at.scheme);
  SHOAL_CHECK(found);
  Result<std::unique_ptr<transport::Listener>> listener = (*found)->listen(at, {});
  SHOAL_CHECK(listener);
  listener_ = std::move(*listener);
}

void Listening::serve_until(const std::function<bool()>& over) {
  const Result<void> done = env_->run(wait_until(over));
  SHOAL_CHECK(done);
}

Task<Result<void>> Listening::wait_until(const std::function<bool()>& over) {  // serve_until() keeps `over` alive.
  if (!accepts_) group_.spawn(accept_all());
  accepts_ = true;
  const SteadyTime deadline = env_->after(std::chrono::seconds(20));
  while (!over() || open_ > 0) {
    SHOAL_CHECK(env_->now() < deadline);
    SHOAL_CO_TRY_VOID(co_await env_->sleep_for(Duration::zero()));
  }
  co_return Result<void>{};
}

Task<Result<void>> Listening::accept_all() {
  for (;;) {
    Result<std::unique_ptr<Connection>> connection = co_await listener_->accept(kNoDeadline);
    SHOAL_CHECK(connection);
    ++open_;
    group_.spawn(echo(std::move(*connection)));
  }
}

Task<Result<void>> Listening::echo(std::unique_ptr<Connection> connection) {
  for (;;) {
    Result<Message> message = co_await connection->receive(kNoDeadline);
    if (!message) break;
    read_message(*message);
    (void)connection->try_send(*message);
  }
  --open_;
  co_return Result<void>{};
}

}  // namespace shoal::fuzz
