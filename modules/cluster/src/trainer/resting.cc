// SPDX-License-Identifier: Apache-2.0
#include "trainer/resting.h"

#include <utility>

namespace shoal::cluster {

using transport::Message;

/// Tells the servers that this trainer makes no pushes for now. The first call also sends them the residual (the gradients
/// that compression has kept back), since the next checkpoint needs it.
Task<Result<RestNews>> Resting::rest(Rest rest, uint64_t newest_push, Deadline deadline) {
  rest.newest_push = newest_push;
  if (!std::exchange(told_, true)) {
    Result<void> handed_in = co_await residuals_.hand_in_last(deadline, deadline);
    static_cast<void>(handed_in);  // The error is ignored: if a server is lost, the calls below return an error, too.
    residuals_.set_others_asked(true);
    Result<void> told = co_await tell_all(rest, deadline);
    const bool broken = !told && told.error().kind() == ErrorKind::kUnavailable;
    // If this trainer waits for news below, a broken connection does not matter: ask() sends `rest` to shard 0 again.
    if (!rest.waits || !broken) SHOAL_CO_TRY_VOID(std::move(told));
  }
  if (!rest.waits) co_return RestNews{};
  for (;;) {
    if (servers_.job_end()) co_return cancelled();
    if (!servers_[0].connected()) {
      env_.sometimes("trainer.rests_over_a_new_connection");
      Result<void> again = co_await servers_.reconnect(0, deadline, {});
      SHOAL_CO_TRY_VOID(servers_.noted(std::move(again)));
    }
    Result<RestNews> news = co_await ask(rest, servers_.answer_by());
    const bool broken = !news && news.error().kind() == ErrorKind::kUnavailable && !servers_[0].connected();
    if (!broken) co_return servers_.noted(std::move(news));
  }
}

/// Tells all servers that this trainer makes no more pushes, so that they do not wait for its residual.
Task<Result<void>> Resting::tell_all(Rest rest, Deadline deadline) {
  rest.waits = false;
  return servers_.tell_all("rest", deadline, to_json(rest));
}

/// Asks shard 0 whether this trainer is to go on resting (to make no pushes). Shard 0 suffices: it learns first of every
/// event that ends a rest.
Task<Result<RestNews>> Resting::ask(Rest rest, Deadline deadline) {
  Message message = transport::make_control(env_.buffers(), "rest", to_json(rest));
  message.head.sequence = servers_[0].next_sequence();
  SHOAL_CO_TRY(const Message answer, co_await servers_[0].request(std::move(message), servers_.epoch(), deadline));
  SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
  if (text.verb == "finished") co_return cancelled();
  if (text.verb == "again") {
    env_.sometimes("trainer.rest_is_over");
    co_return unavailable("the servers went back to an older state, or have another chief; this trainer goes on");
  }
  if (text.verb != "rest") co_return data_loss("a server answered '" + std::string(text.verb.substr(0, 32)) + "' to rest");
  co_return parse_rest_news(text.text);
}

}  // namespace shoal::cluster
