// SPDX-License-Identifier: Apache-2.0
/// Peers that mean harm, at a listener with a token.
#include "hostile_peers.h"
#include "tap.h"

namespace shoal::transport {
namespace {

class HostileTlsPeers : public HostilePeers {
 protected:
  HostileTlsPeers() {
    if (SHOAL_TEST_TLS) options.credential = make_token();
  }
  void SetUp() override {
    if (!SHOAL_TEST_TLS) GTEST_SKIP() << "this build has no TLS (SHOAL_TLS=OFF)";
    HostilePeers::SetUp();
  }

  /// What an honest client sends.
  Bytes honest_bytes() {
    Tap tap(address);
    const Endpoint listener_address = std::exchange(address, tap.endpoint());
    expect_service();
    address = listener_address;
    return tap.recording().of_client;
  }
};

TEST_F(HostileTlsPeers, RandomBytesDoNotGetIn) {
  const uint64_t seed = 17;
  RandomStream random(seed);
  for (int i = 0; i < 200; ++i) {
    RawPeer peer(address);
    Bytes bytes = noise(random, 16 + random.below(2000));
    if (i % 2 == 0) bytes[0] = std::byte(22);                                         // A handshake begins so.
    if (i % 4 == 0) bytes[1] = std::byte(3), bytes[2] = std::byte(1), bytes[3] = {};  // It goes on so.
    peer.send(bytes);
    EXPECT_TRUE(peer.ended_within(10000)) << "seed " << seed << " peer " << i;
  }
  EXPECT_EQ(let_in, 0);
  expect_service();
}

TEST_F(HostileTlsPeers, HandshakesCutShortAreDropped) {
  const Bytes whole = honest_bytes();
  ASSERT_EQ(let_in, 1);
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (size_t keep = 1; keep < whole.size(); keep += 41) {
    RawPeer& peer = *peers.emplace_back(std::make_unique<RawPeer>(address));
    peer.send(Bytes(whole.begin(), whole.begin() + ptrdiff_t(keep)));
  }
  for (const auto& peer : peers) EXPECT_TRUE(peer->ended_within(10000));  // Whoever says no more is out after 300 ms.
  EXPECT_EQ(let_in, 1);
  expect_service();
}

TEST_F(HostileTlsPeers, MutatedHandshakesDoNotGetIn) {
  const Bytes whole = honest_bytes();
  const uint64_t seed = 23;
  RandomStream random(seed);
  for (int round = 0; round < 300; ++round) {
    Bytes bytes = whole;
    for (uint64_t flips = 1 + random.below(3); flips > 0; --flips)
      bytes[random.below(bytes.size())] ^= std::byte(1u << random.below(8));
    RawPeer peer(address);
    peer.send(bytes);
    if (round % 3 == 0) peer.reset();
  }
  SCOPED_TRACE("seed " + std::to_string(seed));
  expect_service();
  EXPECT_EQ(let_in, 2);
}

TEST_F(HostileTlsPeers, SilentAndSlowOnesAreDroppedInTime) {
  const Bytes whole = honest_bytes();
  RawPeer silent(address);
  RawPeer slow(address);
  bool dropped = false;
  const SteadyTime begin = tasks->client().now();
  for (const std::byte byte : whole) {  // One byte every 20 ms is never through in 300 ms.
    if (!slow.send({byte}) || slow.ended_within(20)) {
      dropped = true;
      break;
    }
  }
  EXPECT_TRUE(dropped);
  EXPECT_TRUE(silent.ended_within(10000));
  EXPECT_LT(tasks->client().now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(let_in, 1);
  expect_service();
}

TEST_F(HostileTlsPeers, AFloodOfHalfHandshakesLeavesRoomForOthers) {
  const Bytes whole = honest_bytes();
  const Bytes half(whole.begin(), whole.begin() + 100);
  std::vector<std::unique_ptr<RawPeer>> flood;
  for (int i = 0; i < 400; ++i) flood.emplace_back(std::make_unique<RawPeer>(address))->send(half);
  expect_service();
  EXPECT_EQ(let_in, 2);
}

TEST_F(HostileTlsPeers, PlainOnesAreToldOfTheToken) {
  RawPeer peer(address);
  peer.send(raw_preamble(kProtocolVersion));
  EXPECT_EQ(peer.receive(16), raw_preamble(kProtocolVersion, 3, kUsualHeartbeatMs));
  EXPECT_TRUE(peer.ended_within(10000));
  EXPECT_EQ(let_in, 0);
  expect_service();
}

}  // namespace
}  // namespace shoal::transport
