/// Peers of tcp that mean harm or are broken: they cost a bounded amount of memory and time, and nobody else notices.
#include <atomic>
#include <thread>

#include "raw_peer.h"
#include "shoal/base/random.h"
#include "two_tasks.h"

namespace shoal::transport {
namespace {

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
  std::vector<ErrorKind> ends;  // of connections, in the order they ended; read after the server has ended
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
    tasks->end_client();  // says good-bye for the connections that expect_service() made
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
      SHOAL_CO_TRY(const Link link, co_await tasks->transport(client).connect(address, {}, tasks->soon(client)));
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
}

TEST_F(HostilePeers, AnotherProtocolIsToldSo) {
  RawPeer peer(address);
  peer.send(raw_preamble(kProtocolVersion + 7));
  const Bytes answer = peer.receive(16);
  ASSERT_EQ(answer.size(), 16u);
  EXPECT_EQ(answer, raw_preamble(kProtocolVersion, 0, 1));
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
  for (std::byte byte : preamble) {  // one byte every 60 ms: never through in 300 ms
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
  for (const uint64_t length : {uint64_t(64 * 1024 + 1), uint64_t(1) << 30, uint64_t(1) << 40, ~uint64_t(0), uint64_t(1) << 63}) {
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
      {.flags = 4},
      {.sealed = false},
      {.kind = uint8_t(MessageKind::kControl), .length = 0},              // needs a body
      {.kind = uint8_t(MessageKind::kPull), .flags = 2},                  // last frame without a reason
      {.kind = uint8_t(MessageKind::kError), .flags = 2, .length = 1 << 20},  // endless reason
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
    peer.receive(16);  // it is in
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
  for (int i = 0; i < 300; ++i) peer.send(whole);  // the echoes stay with the server: 18 MB, under its 256 MiB of credit
  expect_service();
  EXPECT_LT(buffer_bytes(), size_t(64) << 20);
}

}  // namespace
}  // namespace shoal::transport
