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

}  // namespace shoal::cluster
