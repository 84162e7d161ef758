// SPDX-License-Identifier: Apache-2.0
/// Peers of tcp that mean harm or are broken: they cost a bounded amount of memory and time, and nobody else notices.
#include <algorithm>

#include "hostile_peers.h"

namespace shoal::transport {
namespace {

TEST_F(HostilePeers, RandomBytesDoNotGetIn) {
  const uint64_t seed = 5;
  RandomStream random(seed);
  for (int i = 0; i < 200; ++i) {
    RawPeer peer(address);
    peer.send(noise(random, 16 + random.below(2000)));
    EXPECT_TRUE(peer.ended_within(10000)) << "seed " << seed << " peer " << i;
  }
  EXPECT_EQ(let_in, 0);
  expect_service();
  const std::string log = tasks->log();  // There is a line for each machine: they do not fill the log.
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 2) << log;  // Some begin as TLS does.
  EXPECT_THAT(log, testing::HasSubstr("it does not speak Shoal's protocol"));
}

TEST_F(HostilePeers, AnotherProtocolIsToldSo) {
  RawPeer peer(address);
  peer.send(raw_preamble(kProtocolVersion + 7));
  const Bytes answer = peer.receive(16);
  ASSERT_EQ(answer.size(), 16u);
  EXPECT_EQ(answer, raw_preamble(kProtocolVersion, 1, kUsualHeartbeatMs));
  EXPECT_TRUE(peer.ended_within(10000));
  EXPECT_EQ(let_in, 0);
  expect_service();
}

TEST_F(HostilePeers, SilentAndSlowOnesAreDroppedInTime) {
  RawPeer silent(address);
  RawPeer slow(address);
  const Bytes preamble = raw_preamble(kProtocolVersion);
  bool dropped = false;
  const SteadyTime begin = tasks->client().now();
  for (std::byte byte : preamble) {  // One byte every 60 ms is never through in 300 ms.
    if (!slow.send({byte}) || slow.ended_within(60)) {
      dropped = true;
      break;
    }
  }
  EXPECT_TRUE(dropped);
  EXPECT_TRUE(silent.ended_within(10000));
  EXPECT_LT(tasks->client().now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(let_in, 0);
  expect_service();
  EXPECT_THAT(tasks->log(), testing::HasSubstr("it did not introduce itself in time"));
}

TEST_F(HostilePeers, AFloodOfSilentOnesLeavesRoomForOthers) {
  std::vector<std::unique_ptr<RawPeer>> flood;
  for (int i = 0; i < 400; ++i) flood.push_back(std::make_unique<RawPeer>(address));
  expect_service();
  EXPECT_EQ(let_in, 1);
}

TEST_F(HostilePeers, OversizedLengthsAreRefusedBeforeAnythingIsAllocated) {
  expect_service();
  const size_t before = buffer_bytes();
  for (const uint64_t length :
       {uint64_t(64 * 1024 + 1), uint64_t(1) << 30, uint64_t(1) << 40, ~uint64_t(0), uint64_t(1) << 63}) {
    RawPeer peer(address);
    Bytes bytes = raw_preamble(kProtocolVersion);
    append(bytes, raw_frame({.kind = uint8_t(MessageKind::kControl), .length = length}));
    peer.send(bytes);
    EXPECT_TRUE(peer.ended_within(10000)) << length;
  }
  EXPECT_LT(buffer_bytes(), before + (1 << 20));
  expect_service();
}

TEST_F(HostilePeers, BrokenFramesEndOnlyTheirConnection) {
  const std::vector<RawFrame> frames = {
      {.magic = 0},
      {.version = 9},
      {.kind = 0},
      {.kind = 8},
      {.flags = 8},
      {.flags = 4, .length = 1},  // A heartbeat with a body.
      {.sealed = false},
      {.kind = uint8_t(MessageKind::kControl), .length = 0},                  // This kind needs a body.
      {.kind = uint8_t(MessageKind::kPull), .flags = 2},                      // A last frame without a reason.
      {.kind = uint8_t(MessageKind::kError), .flags = 2, .length = 1 << 20},  // An endless reason.
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    RawPeer peer(address);
    Bytes bytes = raw_preamble(kProtocolVersion);
    append(bytes, raw_frame(frames[i]));
    peer.send(bytes);
    EXPECT_TRUE(peer.ended_within(10000)) << "frame " << i;
  }
  expect_service();
  TearDown();
  for (size_t i = 0; i < frames.size(); ++i)
    EXPECT_TRUE(ends.at(i) == ErrorKind::kDataLoss || ends.at(i) == ErrorKind::kInvalidArgument) << "end " << i;
}

TEST_F(HostilePeers, TruncatedMessagesAreALostConnection) {
  const auto pool = BufferPool::create();
  const Message control = make_control(*pool, "verb", std::string(3000, 'x'));
  Bytes whole = raw_frame({.kind = uint8_t(MessageKind::kControl), .length = control.body_bytes()});
  append(whole, Bytes(control.body->data(), control.body->data() + control.body_bytes()));
  size_t count = 0;
  for (size_t keep = 1; keep < whole.size(); keep += 97, ++count) {
    RawPeer peer(address);
    Bytes bytes = raw_preamble(kProtocolVersion);
    append(bytes, Bytes(whole.begin(), whole.begin() + ptrdiff_t(keep)));
    peer.send(bytes);
    peer.receive(16);  // It is in.
  }
  expect_service();
  TearDown();
  EXPECT_EQ(ends.size(), count + 1);
  for (ErrorKind kind : ends) EXPECT_EQ(kind, ErrorKind::kUnavailable);
}

TEST_F(HostilePeers, MutatedTrafficDoesNoHarm) {
  const uint64_t seed = 31;
  RandomStream random(seed);
  const auto pool = BufferPool::create();
  for (int round = 0; round < 300; ++round) {
    Bytes bytes = raw_preamble(kProtocolVersion);
    for (int i = 0; i < 3; ++i) {
      const Message message = make_chunk(*pool, {.range_end = 200, .closing = true, .position = "p"}, 200, 2).message;
      append(bytes, raw_frame({.kind = uint8_t(MessageKind::kChunk), .length = message.body_bytes()}));
      append(bytes, Bytes(message.body->data(), message.body->data() + message.body_bytes()));
    }
    for (uint64_t flips = 1 + random.below(3); flips > 0; --flips)
      bytes[16 + random.below(bytes.size() - 16)] ^= std::byte(1u << random.below(8));
    RawPeer peer(address);
    peer.send(bytes);
    if (round % 3 == 0) peer.reset();
  }
  SCOPED_TRACE("seed " + std::to_string(seed));
  expect_service();
}

TEST_F(HostilePeers, OneWhoNeverReadsIsHeldByBackPressure) {
  RawPeer peer(address);
  Bytes preamble = raw_preamble(kProtocolVersion);
  peer.send(preamble);
  const auto pool = BufferPool::create();
  const Message control = make_control(*pool, "verb", std::string(60000, 'x'));
  Bytes whole = raw_frame({.kind = uint8_t(MessageKind::kControl), .length = control.body_bytes()});
  append(whole, Bytes(control.body->data(), control.body->data() + control.body_bytes()));
  // The echoes stay with the server: 18 MB, under its 256 MiB of credit.
  for (int i = 0; i < 300; ++i) peer.send(whole);
  expect_service();
  EXPECT_LT(buffer_bytes(), size_t(64) << 20);
}

}  // namespace
}  // namespace shoal::transport
