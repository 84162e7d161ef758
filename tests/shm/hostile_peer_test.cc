// SPDX-License-Identifier: Apache-2.0
/// Peers that mean harm or are broken: they cost a bounded amount of memory and time, and nobody else notices.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "meeting.h"
#include "raw_peer.h"
#include "shoal/base/random.h"

namespace shoal::transport::shm {
namespace {

/// A server that echoes to everyone who gets in, on its own thread, and an honest client.
class HostileShmPeers : public Shm {
 protected:
  std::atomic<int> let_in = 0;
  std::vector<Error> ends;  // Reasons in the order in which connections ended; read after the server has ended.
  std::thread thread;
  Endpoint address;
  std::shared_ptr<BufferPool> pool = BufferPool::create();

  void SetUp() override {
    options.handshake_timeout = milliseconds(300);
    options.receive_bytes_max = 64 * 1024;
    ASSERT_TRUE(listen());
    address = listener->endpoint();
    thread = std::thread([this] {
      const Done done = server.run(serve());
      EXPECT_TRUE(done) << done.error().message();
    });
  }
  void TearDown() override {
    if (!thread.joinable()) return;
    tasks.end_client();  // It says good-bye for the connections that expect_service() made.
    server.post([this] { listener->close(); });
    thread.join();
  }
  Task<Done> serve() {
    TaskGroup group(server);
    while (true) {
      Result<Connected> link = co_await accept();
      if (!link) break;
      ++let_in;
      group.spawn(echo(std::move(*link)));
    }
    co_return co_await group.join();
  }
  Task<Done> echo(Connected link) {
    while (true) {
      Result<Message> message = co_await link->receive(tasks.soon(server));
      if (!message) {
        ends.push_back(message.error());
        break;
      }
      (void)link->try_send(*message);
    }
    co_return Done();
  }
  /// An honest peer still gets its answer.
  void expect_service() {
    const auto call = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Connected link, co_await tasks.transport(client).connect(address, {}, tasks.soon(client)));
      Message message = weights_of(client, 1000, 42);
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(client)));
      SHOAL_CO_TRY(const Message echo, co_await link->receive(tasks.soon(client)));
      EXPECT_EQ(echo.head.sequence, 42u);
      co_return Done();
    };
    tasks.run_client(call());
  }
  /// What a peer does after it got in ends its connection, and only that, with this kind.
  template <class Act>
  void expect_end(ErrorKind kind, const std::string& part, Act act) {
    {
      RawPeer peer(address);
      ASSERT_TRUE(peer.introduce());
      act(peer);
      EXPECT_TRUE(peer.ended_within(10000)) << part;
    }
    expect_service();
    TearDown();
    ASSERT_GE(ends.size(), 1u);
    EXPECT_EQ(ends[0].kind(), kind) << ends[0].message();
    EXPECT_THAT(ends[0].message(), HasSubstr(part));
  }
  /// A control message in memory that `peer` shares as segment 1, and its descriptor.
  Descriptor good_message(RawPeer& peer) {
    const Message control = make_control(*pool, "verb", "text");
    const Mapping& memory = peer.share(1, 1 << 16);
    std::memcpy(memory.data(), control.body->data(), control.body->size());
    Descriptor descriptor;
    descriptor.kind = uint8_t(MessageKind::kControl);
    descriptor.has_body = 1;
    descriptor.segment = 1;
    descriptor.front_bytes = control.body->size();
    return descriptor;
  }
  /// Calls expect_end() with a message that is good but for `change`.
  template <class Change>
  void expect_refusal(ErrorKind kind, const std::string& part, Change change) {
    expect_end(kind, part, [&](RawPeer& peer) {
      Descriptor descriptor = good_message(peer);
      change(descriptor);
      peer.publish(descriptor);
    });
  }
};

TEST_F(HostileShmPeers, RandomBytesDoNotGetIn) {
  const uint64_t seed = 5;
  RandomStream random(seed);
  const File null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  expect_service();
  const size_t files = open_files();
  for (int i = 0; i < 200; ++i) {
    RawPeer peer(address);
    std::vector<std::byte> noise(1 + random.below(200));
    for (std::byte& byte : noise) byte = std::byte(random.next_u32());
    peer.send(std::span<const std::byte>(noise), i % 2 ? null.get() : -1);
    EXPECT_TRUE(peer.ended_within(10000)) << "seed " << seed << " peer " << i;
  }
  EXPECT_EQ(let_in, 1);
  expect_service();
  EXPECT_LE(open_files(), files + 2);  // The honest client's connection has two.
}

TEST_F(HostileShmPeers, AnotherUserDoesNotGetIn) {
  if (!AnotherUser::possible()) GTEST_SKIP() << "only root can be somebody else";
  const auto name = socket_name(address);
  ASSERT_TRUE(name);
  std::optional<RawPeer> peer;
  {
    const AnotherUser other;
    peer.emplace(*name);
  }
  EXPECT_FALSE(peer->introduce());
  EXPECT_EQ(let_in, 0);
  expect_service();
}

TEST_F(HostileShmPeers, AnotherProtocolIsToldSo) {
  for (const Preamble ours :
       {Preamble{.protocol = kProtocolVersion + 7, .layout = kLayout}, Preamble{.layout = kLayout + 1}}) {
    RawPeer peer(address);
    const auto answer = peer.introduce(ours);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->protocol, kProtocolVersion);
    EXPECT_EQ(answer->status, kOtherProtocol);
    EXPECT_TRUE(peer.ended_within(10000));
  }
  EXPECT_EQ(let_in, 0);
  expect_service();
}

TEST_F(HostileShmPeers, GreetingsWithoutProperMemoryDoNotGetIn) {
  const Preamble ours{.layout = kLayout};
  const File null(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const File unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), off_t(kRingsBytes)), 0);
  const Result<Segment> small = create_segment(4096, PeersMay::kWrite);
  const Result<Segment> read_only = create_segment(kRingsBytes, PeersMay::kRead);
  for (const int descriptor : {-1, null.get(), unsealed.get(), small->file.get(), read_only->file.get()}) {
    RawPeer peer(address);
    peer.send(ours, descriptor);
    EXPECT_TRUE(peer.ended_within(10000)) << descriptor;
  }
  EXPECT_EQ(let_in, 0);
  expect_service();
}

TEST_F(HostileShmPeers, SilentOnesAreDroppedInTimeAndAFloodLeavesRoomForOthers) {
  RawPeer silent(address);
  EXPECT_TRUE(silent.ended_within(10000));
  std::vector<std::unique_ptr<RawPeer>> flood;
  for (int i = 0; i < 400; ++i) flood.push_back(std::make_unique<RawPeer>(address));
  expect_service();
  EXPECT_EQ(let_in, 1);
}

TEST_F(HostileShmPeers, GoodOnesOfThisKindAreUnderstood) {
  RawPeer peer(address);
  ASSERT_TRUE(peer.introduce());
  peer.publish(good_message(peer));
  const SteadyTime deadline = tasks.soon(client);
  while (peer.rings().received().written.load() == 0 && client.now() < deadline) std::this_thread::yield();
  EXPECT_EQ(peer.rings().received().written.load(), 1u);  // The echo has come.
}

TEST_F(HostileShmPeers, LengthsAreComparedBeforeAnythingIsTaken) {
  expect_refusal(ErrorKind::kInvalidArgument, "at most 65536", [](Descriptor& d) { d.front_bytes = 65537; });
}
TEST_F(HostileShmPeers, LengthsThatOverflowAreTooLong) {
  expect_refusal(ErrorKind::kInvalidArgument, "at most", [](Descriptor& d) { d.payload_bytes = ~uint64_t(0) - 100; });
}
TEST_F(HostileShmPeers, OffsetsBeyondTheMemory) {
  expect_refusal(ErrorKind::kDataLoss, "beyond its memory", [](Descriptor& d) { d.offset = (1 << 16) - 64; });
}
TEST_F(HostileShmPeers, OffsetsThatOverflow) {
  expect_refusal(ErrorKind::kDataLoss, "beyond its memory", [](Descriptor& d) { d.offset = ~uint64_t(0) - 63; });
}
TEST_F(HostileShmPeers, MemoryThatWasNeverShared) {
  expect_refusal(ErrorKind::kDataLoss, "did not share", [](Descriptor& d) { d.segment = 2; });
}
TEST_F(HostileShmPeers, SlotsOutOfRange) {
  expect_refusal(ErrorKind::kDataLoss, "out of range", [](Descriptor& d) { d.slot = kSlots; });
}
TEST_F(HostileShmPeers, EmptyBodies) {
  expect_refusal(ErrorKind::kDataLoss, "too short", [](Descriptor& d) { d.front_bytes = 0; });
}
TEST_F(HostileShmPeers, UnknownKinds) {
  expect_refusal(ErrorKind::kDataLoss, "unknown kind", [](Descriptor& d) { d.kind = 77; });
}
TEST_F(HostileShmPeers, BodiesThatDoNotVerify) {
  expect_refusal(ErrorKind::kDataLoss, "FlatBuffer", [](Descriptor& d) { d.front_bytes -= 100; });
}
TEST_F(HostileShmPeers, LastWordsThatAreNone) {
  expect_refusal(ErrorKind::kDataLoss, "not an error message", [](Descriptor& d) { d.farewell = 1; });
}

TEST_F(HostileShmPeers, MoreMessagesThanTheRingHas) {
  expect_end(ErrorKind::kDataLoss, "more messages than the ring has room for", [](RawPeer& peer) {
    peer.sent().written.store(kDescriptors + 1);
    peer.ring();
  });
}
TEST_F(HostileShmPeers, BuffersGivenBackThatItNeverHad) {
  expect_end(ErrorKind::kDataLoss, "did not have", [](RawPeer& peer) {
    peer.rings().received().given_back.store(1);
    peer.ring();
  });
}
TEST_F(HostileShmPeers, MessagesReadThatWereNeverSent) {
  expect_end(ErrorKind::kDataLoss, "not sent yet", [this](RawPeer& peer) {
    peer.rings().received().read.store(5);
    peer.publish(good_message(peer));  // The echo meets it.
  });
}
TEST_F(HostileShmPeers, NoticesOfNoKind) {
  expect_end(ErrorKind::kDataLoss, "a notice that this protocol does not have",
             [](RawPeer& peer) { peer.send(Notice{.kind = 9}); });
}
TEST_F(HostileShmPeers, NoticesThatAreTooLong) {
  expect_end(ErrorKind::kDataLoss, "a notice that this protocol does not have",
             [](RawPeer& peer) { peer.send(std::array<std::byte, 1000>{}); });
}
TEST_F(HostileShmPeers, MemoryAnnouncedAndNotSent) {
  expect_end(ErrorKind::kDataLoss, "sent none",
             [](RawPeer& peer) { peer.send(Notice{.kind = Notice::kSegment, .id = 1, .bytes = 4096}); });
}
TEST_F(HostileShmPeers, MemoryThatIsNotSealed) {
  expect_end(ErrorKind::kDataLoss, "sealed", [](RawPeer& peer) {
    const File file(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    SHOAL_CHECK(::ftruncate(file.get(), 4096) == 0);
    peer.send(Notice{.kind = Notice::kSegment, .id = 1, .bytes = 4096}, file.get());
  });
}
TEST_F(HostileShmPeers, MemoryBeyondAnyMeasure) {
  expect_end(ErrorKind::kInvalidArgument, "more memory than a peer may have mapped", [](RawPeer& peer) {
    const Result<Segment> segment = create_segment(4096, PeersMay::kWrite);
    peer.send(Notice{.kind = Notice::kSegment, .id = 1, .bytes = kMappedBytesMax + 1}, segment->file.get());
  });
}
TEST_F(HostileShmPeers, MemoryAnnouncedTwice) {
  expect_end(ErrorKind::kDataLoss, "twice", [](RawPeer& peer) {
    peer.share(1, 4096);
    peer.share(1, 4096);
  });
}

TEST_F(HostileShmPeers, WhatWasCheckedStaysAsItWas) {
  // A peer rewrites its message all the time; whoever reads it finds either something sound or a reason to end. That this
  // reads nothing outside of it is for AddressSanitizer to see.
  const Message chunk = make_chunk(*pool, {.range_end = 4096, .position = "p"}, 4096, 2).message;
  const std::span<const std::byte> body = chunk.body->bytes();
  const auto front = size_t(chunk.payload().data() - body.data());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RawPeer peer(address);
    ASSERT_TRUE(peer.introduce());
    const Mapping& memory = peer.share(1, 1 << 16);
    std::memcpy(memory.data(), body.data(), body.size());
    std::atomic<bool> stop = false;
    std::thread rewrites([&] {
      RandomStream random(seed);
      while (!stop) {
        const size_t at = random.below(front);
        auto* byte = reinterpret_cast<volatile unsigned char*>(memory.data() + at);
        *byte = static_cast<unsigned char>(random.next_u32());
        *byte = static_cast<unsigned char>(body[at]);
      }
    });
    bool refused = false;
    // The echoes, which it never reads, fit into the ring.
    for (uint32_t i = 0; i < kDescriptors / 2 && !refused; ++i) {
      Descriptor descriptor;
      descriptor.kind = uint8_t(MessageKind::kChunk);
      descriptor.has_body = 1;
      descriptor.segment = 1;
      descriptor.front_bytes = front;
      descriptor.payload_bytes = 4096;
      descriptor.slot = i;
      peer.publish(descriptor);
      while (peer.sent().given_back.load() <= i && !refused) refused = peer.ended_within(0);
    }
    stop = true;
    rewrites.join();
  }
  expect_service();
}

TEST_F(HostileShmPeers, RandomRingsDoNoHarm) {
  const uint64_t seed = 31;
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomStream random(seed);
  for (int round = 0; round < 200; ++round) {
    RawPeer peer(address);
    ASSERT_TRUE(peer.introduce());
    const Descriptor good = good_message(peer);
    for (int i = 0; i < 3; ++i) {
      Descriptor descriptor = good;
      auto* bytes = reinterpret_cast<unsigned char*>(&descriptor);
      for (uint64_t flips = random.below(3); flips > 0; --flips)
        bytes[random.below(sizeof descriptor)] ^= static_cast<unsigned char>(1U << random.below(8));
      descriptor.slot = i == 2 ? random.next_u32() : uint32_t(i);
      peer.publish(descriptor);
    }
    if (round % 3 == 0) peer.rings().received().given_back.store(random.next_u32());
    if (round % 3 == 1) peer.rings().received().read.store(random.next_u32());
    peer.ring();
  }
  expect_service();
}

}  // namespace
}  // namespace shoal::transport::shm
