// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The fixture of tests that ask who gets in by TLS.
#include "transports.h"

namespace shoal::transport {

/// A listener of tcp by TLS, and a client that gets in or does not.
class TlsMeetings : public testing::Test {
 protected:
  explicit TlsMeetings(const Setting& setting) : tasks(setting) {}

  TwoTasks tasks;
  Environment& server = tasks.server();
  Environment& client = tasks.client();
  LinkOptions options;
  std::unique_ptr<Listener> listener;

  void SetUp() override {
    if (!SHOAL_TEST_TLS) GTEST_SKIP() << "this build has no TLS (SHOAL_TLS=OFF)";
    options.credential = tasks.credential();
    options.handshake_timeout = seconds(15);  // What ends by it fails a test, see expect_refusal().
  }
  void listen() {
    auto listening = tasks.transport(server).listen({"tcp", "127.0.0.1:0"}, options);
    ASSERT_TRUE(listening) << listening.error().message();
    listener = std::move(*listening);
  }
  Task<Result<Link>> connect(Endpoint to, LinkOptions with) {
    return tasks.transport(client).connect(std::move(to), std::move(with), tasks.soon(client));
  }
  /// Expects that nobody gets in who comes with `with`, and that this is clear well before the timeout.
  void expect_refusal(const LinkOptions& with, const std::string& client_part, const std::string& server_part) {
    std::atomic<bool> refused = false;
    const auto serve = [&]() -> Task<Done> {
      const Deadline give_up = tasks.soon(server);
      while (!refused || (tasks.log().find(server_part) == std::string::npos && server.now() < give_up)) {
        Result<Link> nobody = co_await listener->accept(server.after(milliseconds(5)));
        expect_error(nobody, ErrorKind::kDeadlineExceeded);
      }
      co_return Done();
    };
    const auto call = [&]() -> Task<Done> {
      const SteadyTime begin = client.now();
      Result<Link> link = co_await connect(listener->endpoint(), with);
      EXPECT_LT(client.now() - begin, seconds(10));
      refused = true;
      expect_error(link, ErrorKind::kFailedPrecondition, client_part);
      co_return Done();
    };
    tasks.run(serve(), call());
    EXPECT_THAT(tasks.log(), HasSubstr(server_part));
  }
  /// The server echoes to one who comes by `to`, who sends two messages.
  void expect_meeting(const Endpoint& to) { expect_meeting(to, options); }
  void expect_meeting(const Endpoint& to, const LinkOptions& with) {
    const auto serve = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks.soon(server)));
      for (int i = 0; i < 2; ++i) {
        SHOAL_CO_TRY(Message message, co_await link->receive(tasks.soon(server)));
        SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(server)));
      }
      co_return co_await wait_for_peer_to_leave(*link, server);
    };
    const auto call = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Link link, co_await connect(to, with));
      for (int i = 0; i < 2; ++i) {
        Message message = make_control(client.buffers(), "verb", "plain text that nobody shall read");
        SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
        SHOAL_CO_TRY(const Message echo, co_await link->receive(tasks.soon(client)));
        EXPECT_EQ(read_control(echo)->text, "plain text that nobody shall read");
      }
      co_return Done();
    };
    tasks.run(serve(), call());
  }
};

}  // namespace shoal::transport
