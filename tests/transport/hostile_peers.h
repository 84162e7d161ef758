// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The fixture of tests with peers of tcp that mean harm or are broken.
#include <atomic>
#include <thread>

#include "raw_peer.h"
#include "shoal/base/random.h"
#include "two_tasks.h"

namespace shoal::transport {

using std::chrono::milliseconds;
using Done = Result<void>;
using Link = std::unique_ptr<Connection>;

/// A server that echoes to everyone who gets in, on its own thread, and an honest client.
class HostilePeers : public testing::Test {
 protected:
  std::optional<TwoTasks> tasks;
  LinkOptions options{.handshake_timeout = milliseconds(300)};
  std::unique_ptr<Listener> listener;
  Endpoint address;
  std::atomic<int> let_in = 0;
  std::vector<ErrorKind> ends;  // Reasons in the order in which connections ended; read after the server has ended.
  std::thread server;

  void SetUp() override {
    if (!built_in_transports().contains("tcp")) GTEST_SKIP() << "this build has no tcp (SHOAL_TCP=OFF)";
    tasks.emplace(Setting{"tcp"});
    auto listening = tasks->transport(tasks->server()).listen({"tcp", "127.0.0.1:0"}, options);
    ASSERT_TRUE(listening);
    listener = std::move(*listening);
    address = listener->endpoint();
    server = std::thread([this] {
      const Done done = tasks->server().run(serve());
      EXPECT_TRUE(done) << done.error().message();
    });
  }
  void TearDown() override {
    if (!server.joinable()) return;
    tasks->end_client();  // It says good-bye for the connections that expect_service() made.
    tasks->server().post([this] { listener->close(); });
    server.join();
  }
  Task<Done> serve() {
    TaskGroup group(tasks->server());
    while (true) {
      Result<Link> link = co_await listener->accept(tasks->soon(tasks->server()));
      if (!link) break;
      ++let_in;
      group.spawn(echo(std::move(*link)));
    }
    co_return co_await group.join();
  }
  Task<Done> echo(Link link) {
    while (true) {
      Result<Message> message = co_await link->receive(tasks->soon(tasks->server()));
      if (!message) {
        ends.push_back(message.error().kind());
        break;
      }
      (void)link->try_send(*message);
    }
    co_return Done();
  }
  /// An honest peer still gets its answer.
  void expect_service() {
    Environment& client = tasks->client();
    const auto call = [&]() -> Task<Done> {
      LinkOptions honest;
      honest.credential = options.credential;
      SHOAL_CO_TRY(const Link link, co_await tasks->transport(client).connect(address, honest, tasks->soon(client)));
      Message message = weights_of(client, 1000, 42);
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks->soon(client)));
      SHOAL_CO_TRY(const Message echo, co_await link->receive(tasks->soon(client)));
      EXPECT_EQ(echo.head.sequence, 42u);
      co_return Done();
    };
    tasks->run_client(call());
  }
  Bytes noise(RandomStream& random, size_t bytes) {
    Bytes noise(bytes);
    for (std::byte& byte : noise) byte = std::byte(random.next_u32());
    return noise;
  }
  size_t buffer_bytes() { return tasks->server().buffers().stats().allocated_bytes; }
};

}  // namespace shoal::transport
