// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/listen.h"

namespace shoal::cluster {

Task<Result<std::unique_ptr<transport::Listener>>> listen(Environment& env, transport::Endpoint at,
                                                          transport::LinkOptions options, Deadline deadline) {
  constexpr auto kPause = std::chrono::seconds(1);
  constexpr auto kNoteEvery = std::chrono::seconds(10);
  SHOAL_CO_TRY(transport::Transport * transport, env.transport(at.scheme));
  SteadyTime next_note = env.now();
  for (;;) {
    auto listener = transport->listen(at, options);
    if (listener || listener.error().kind() != ErrorKind::kNotFound || env.after(kPause) >= deadline) co_return listener;
    if (env.now() >= next_note) {
      env.log().info("waiting for a name of this task: " + listener.error().message());
      next_note = env.after(kNoteEvery);
    }
    SHOAL_CO_TRY_VOID(co_await env.sleep_for(kPause, env.interrupted()));
  }
}

Task<Result<void>> accept_each(Environment& env, transport::Listener& listener, std::string whose,
                               std::function<void(std::unique_ptr<transport::Connection>)> serve) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  for (;;) {
    auto connection = co_await listener.accept(kNoDeadline);
    if (connection) {
      serve(std::move(connection).value());
    } else if (connection.error().kind() == ErrorKind::kCancelled) {
      co_return Result<void>{};
    } else {
      env.log().warning_once("accept " + whose,
                             whose + "a connection could not be accepted: " + connection.error().message());
      SHOAL_CO_TRY_VOID(co_await env.sleep_for(kPause));
    }
  }
}

}  // namespace shoal::cluster
