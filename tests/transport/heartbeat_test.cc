// SPDX-License-Identifier: Apache-2.0
/// Connections over tcp that have nothing to carry, and peers that say nothing.
#include <thread>

#include "raw_peer.h"
#include "transports.h"

namespace shoal::transport {
namespace {

constexpr uint16_t kFlagHeartbeat = 4;

class Heartbeats : public testing::Test {
 protected:
  TwoTasks tasks{Setting{"tcp"}};
  Environment& server = tasks.server();
  LinkOptions options{.heartbeat_interval = milliseconds(250)};
  std::unique_ptr<Listener> listener;

  void SetUp() override {
    if (!built_in_transports().contains("tcp")) GTEST_SKIP() << "this build has no tcp (SHOAL_TCP=OFF)";
    listen();
  }
  void listen() {
    auto listening = tasks.transport(server).listen({"tcp", "127.0.0.1:0"}, options);
    ASSERT_TRUE(listening) << listening.error().message();
    listener = std::move(*listening);
  }
};

TEST_F(Heartbeats, ASilentPeerIsReportedAfterThreeOfItsIntervals) {
  RawPeer peer(listener->endpoint());
  peer.send(raw_preamble(kProtocolVersion, 0, 200));
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks.soon(server)));
    const SteadyTime begin = server.now();
    Result<Message> nothing = co_await link->receive(tasks.soon(server));
    expect_error(nothing, ErrorKind::kUnavailable, "the peer has been silent for 600 ms");
    EXPECT_GE(server.now() - begin, milliseconds(590));  // The count begins with the handshake.
    EXPECT_LT(server.now() - begin, seconds(10));
    co_return Done();
  };
  const Done done = server.run(serve());
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_EQ(peer.receive(16), raw_preamble(kProtocolVersion, 0, 250));
  EXPECT_EQ(peer.receive(88), raw_frame({.flags = kFlagHeartbeat}));
}

TEST_F(Heartbeats, APeerWithALargeMessageOnASlowWayIsNotTakenForDead) {
  options.receive_bytes_max = 1 << 20;
  listen();
  const auto pool = BufferPool::create();
  const Message message = make_control(*pool, "verb", std::string(20000, 'x'));
  Bytes bytes = raw_frame({.kind = uint8_t(MessageKind::kControl), .length = message.body_bytes()});
  append(bytes, Bytes(message.body->data(), message.body->data() + message.body_bytes()));
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks.soon(server)));
    SHOAL_CO_TRY(const Message whole, co_await link->receive(tasks.soon(server)));
    EXPECT_EQ(read_control(whole)->text.size(), 20000u);
    co_return Done();
  };
  std::thread serves([&] {
    const Done done = server.run(serve());
    EXPECT_TRUE(done) << done.error().message();
  });
  RawPeer peer(listener->endpoint());
  peer.send(raw_preamble(kProtocolVersion, 0, 250));
  for (size_t at = 0; at < bytes.size(); at += 1000) {  // Some 20 parts come 100 ms apart, in much longer than 750 ms.
    peer.send(Bytes(bytes.begin() + ptrdiff_t(at), bytes.begin() + ptrdiff_t(std::min(at + 1000, bytes.size()))));
    if (at < 15000) (void)peer.ended_within(100);
  }
  serves.join();
}

TEST_F(Heartbeats, ThereAreNoneUnlessBothSidesWantThem) {
  for (const auto& [ours, theirs] : {std::pair(0, 50), std::pair(50, 0)}) {
    options.heartbeat_interval = milliseconds(ours);
    listen();
    RawPeer peer(listener->endpoint());
    peer.send(raw_preamble(kProtocolVersion, 0, uint16_t(theirs)));
    const auto serve = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks.soon(server)));
      Result<Message> nothing = co_await link->receive(server.after(milliseconds(400)));
      expect_error(nothing, ErrorKind::kDeadlineExceeded);
      co_return Done();
    };
    const Done done = server.run(serve());
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_EQ(peer.receive(16), raw_preamble(kProtocolVersion, 0, uint16_t(ours)));
    const Bytes first = peer.receive(88);
    ASSERT_EQ(first.size(), 88u);
    EXPECT_EQ(first[6], std::byte(2));  // The good-bye has come, and no heartbeat before it.
  }
}

}  // namespace
}  // namespace shoal::transport
