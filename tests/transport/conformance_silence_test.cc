// SPDX-License-Identifier: Apache-2.0
/// What every transport between processes must do about peers that say nothing: stopped ones are found out, busy ones are
/// not taken for such. (Tasks of one process stop together.)
#include <future>

#include "answering_peer.h"

namespace shoal::transport {
namespace {

class Silence : public WithAPeer {};
INSTANTIATE_TEST_SUITE_P(All, Silence, testing::ValuesIn(settings_between_processes()), setting_name);

TEST_P(Silence, AProcessThatIsStoppedIsNoticed) {
  for (const bool we_connected : {false, true}) {
    const auto peer = start_peer(kInterval);
    const auto watch = [&]() -> Task<Done> {
      SHOAL_CO_TRY(Both both, co_await meet());
      Connection& link = both[we_connected];
      peer->stop();
      const SteadyTime stopped = server.now();
      Result<Message> nothing = co_await link.receive(tasks.soon(server));
      expect_error(nothing, ErrorKind::kUnavailable, "the peer has been silent for 750 ms");
      EXPECT_GE(server.now() - stopped, kInterval);  // Its last message may be an interval old.
      EXPECT_LT(server.now() - stopped, seconds(10));
      EXPECT_LT(link.heard(), stopped + kInterval);
      co_return Done();
    };
    run(watch());
  }
}

TEST_P(Silence, WhoSendsToAStoppedProcessLearnsOfItToo) {
  options.send_queue_bytes_max = 1 << 20;
  const auto peer = start_peer(kInterval);
  const auto fill = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    peer->stop();
    Result<void> sent;
    while (sent) {
      Message message = weights_of(server, 60 * 1024, 1);
      sent = co_await both.ours->send(std::move(message), tasks.soon(server));
    }
    expect_error(sent, ErrorKind::kUnavailable, "the peer has been silent for 750 ms");
    co_return Done();
  };
  run(fill());
}

TEST_P(Silence, AListenerThatIsStoppedIsNotWaitedFor) {
  options.handshake_timeout = milliseconds(500);
  const auto peer = start_peer(kLong);
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    peer->stop();
    const SteadyTime stopped = server.now();
    auto connecting = tasks.transport(server).connect(both.ours->peer(), options, tasks.soon(server));
    Result<Link> nobody = co_await std::move(connecting);
    expect_error(nobody, ErrorKind::kUnavailable, both.ours->peer().address);
    EXPECT_LT(server.now() - stopped, seconds(10));
    co_return Done();
  };
  run(call());
}

TEST_P(Silence, AProcessThatWasStoppedListensBeforeItJudges) {
  const auto peer = start_peer(kLong);
  const auto watch = [&]() -> Task<Done> {
    SHOAL_CO_TRY(Both both, co_await meet());
    peer->stop();
    Result<Message> nothing =
        co_await both.ours->receive(server.after(6 * kInterval));  // Six intervals of ours: it is patient, we are not.
    expect_error(nothing, ErrorKind::kDeadlineExceeded);
    peer->go_on();
    for (const bool we_connected : {false, true}) SHOAL_CO_TRY_VOID(co_await echo(both[we_connected], 2));
    co_return Done();
  };
  run(watch());
}

/// A task of a virtual world that computes stops the world.
class BusyTasks : public WithAPeer {};
INSTANTIATE_TEST_SUITE_P(All, BusyTasks, testing::ValuesIn(settings_of_threads()), setting_name);

TEST_P(BusyTasks, ABusyTaskIsNotTakenForDead) {
  std::promise<void> waited;
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks.soon(server)));
    Result<Message> nothing = co_await link->receive(server.after(milliseconds(2000)));
    expect_error(nothing, ErrorKind::kDeadlineExceeded);
    waited.set_value();
    SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
    EXPECT_EQ(message.head.sequence, 7u);
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    Work computes = [&] { waited.get_future().wait(); };
    SHOAL_CO_TRY_VOID(co_await client.offload(std::move(computes)));
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(7), tasks.soon(client)));
    co_return co_await wait_for_peer_to_leave(*link, client);
  };
  tasks.run(serve(), call());
}

TEST_P(Silence, ATaskThatTakesNothingForLongKeepsItsConnection) {
  options.send_queue_bytes_max = 1 << 20;
  options.receive_bytes_max = kBig;
  listen_again();
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks.soon(server)));
    SHOAL_CO_TRY_VOID(co_await server.sleep_for(milliseconds(2000)));  // Its queue is full long before.
    for (uint64_t i = 0; i < 50; ++i) {
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks.soon(server)));
      EXPECT_EQ(message.head.sequence, i);
    }
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    for (uint64_t i = 0; i < 50; ++i) {
      Message message = weights_of(client, 1 << 20, i);
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
    }
    co_return co_await wait_for_peer_to_leave(*link, client);
  };
  tasks.run(serve(), call());
}

}  // namespace
}  // namespace shoal::transport
