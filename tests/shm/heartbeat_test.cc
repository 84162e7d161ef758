// SPDX-License-Identifier: Apache-2.0
/// Peers over shm that say nothing: what the datagrams of its control socket are for. (That processes which were stopped
/// are noticed, and busy ones are not, is tested for every transport.)
#include <cstring>
#include <thread>

#include "meeting.h"
#include "raw_peer.h"

namespace shoal::transport::shm {
namespace {

class ShmHeartbeats : public Shm {
 protected:
  void SetUp() override { options.heartbeat_interval = milliseconds(250); }
  static Preamble greeting(HeartbeatMs heartbeat) { return {.layout = kLayout, .heartbeat = heartbeat}; }
  /// A peer with this interval, met by a listener that is told to announce `answered`.
  std::unique_ptr<RawPeer> meet_raw(HeartbeatMs theirs, HeartbeatMs answered) {
    EXPECT_TRUE(listen());
    // The listener answers from its event loop, so the two of them need a thread each.
    std::unique_ptr<RawPeer> peer;
    std::thread introduces([&] {
      peer = std::make_unique<RawPeer>(listener->endpoint());
      const auto answer = peer->introduce(greeting(theirs));
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, kWelcome);
      EXPECT_EQ(answer->heartbeat, answered);
    });
    const auto let_in = [&]() -> Task<Done> {
      SHOAL_CO_TRY(link, co_await accept());
      co_return Done();
    };
    run(let_in());
    introduces.join();
    return peer;
  }
  /// More than are read ahead: some stay in the ring until the task takes the first.
  static constexpr uint32_t kWords = 20;
  void publish_words(RawPeer& peer) {
    const Message word = make_control(server.buffers(), "verb", std::string(60000, 'x'));
    std::memcpy(peer.share(1, 1 << 16).data(), word.body->data(), word.body->size());
    for (uint32_t i = 0; i < kWords; ++i) {
      Descriptor descriptor;
      descriptor.kind = uint8_t(MessageKind::kControl);
      descriptor.has_body = 1;
      descriptor.segment = 1;
      descriptor.front_bytes = word.body->size();
      descriptor.slot = i;
      peer.publish(descriptor);
    }
  }
  void run(Task<Done> task) {
    const Done done = server.run(std::move(task));
    EXPECT_TRUE(done) << done.error().message();
  }
  Connected link;
};

TEST_F(ShmHeartbeats, ASilentPeerIsReportedAfterThreeOfItsIntervals) {
  const auto peer = meet_raw(200, 250);
  const auto wait = [&]() -> Task<Done> {
    const SteadyTime begin = server.now();
    Result<Message> nothing = co_await link->receive(tasks.soon(server));
    expect_error(nothing, ErrorKind::kUnavailable, "the peer has been silent for 600 ms");
    EXPECT_LT(server.now() - begin, seconds(10));
    co_return Done();
  };
  run(wait());
  EXPECT_GE(peer->rings_heard(), 1);
}

TEST_F(ShmHeartbeats, WhatLiesInTheRingIsNoSignOfLife) {
  const auto peer = meet_raw(200, 250);
  const auto take_slowly = [&]() -> Task<Done> {
    publish_words(*peer);
    for (uint64_t count = 0; count < kWords; ++count) {
      Result<Message> word = co_await link->receive(tasks.soon(server));
      if (!word) {
        expect_error(word, ErrorKind::kUnavailable, "the peer has been silent for 600 ms");
        EXPECT_LE(link->heard(), server.now() - milliseconds(600));
        co_return Done();
      }
      SHOAL_CO_TRY_VOID(co_await server.sleep_for(milliseconds(100)));
    }
    co_return internal_error("a peer that said nothing for 2 s was not found out");
  };
  run(take_slowly());
}

TEST_F(ShmHeartbeats, WordsOfAPeerThatHasLeftAreNotLostForItsSilence) {
  auto peer = meet_raw(200, 250);
  const auto take_late = [&]() -> Task<Done> {
    publish_words(*peer);
    peer.reset();
    SHOAL_CO_TRY_VOID(co_await server.sleep_for(milliseconds(1500)));
    for (uint64_t i = 0; i < kWords; ++i) {
      SHOAL_CO_TRY(const Message word, co_await link->receive(tasks.soon(server)));
    }
    Result<Message> end = co_await link->receive(tasks.soon(server));
    expect_error(end, ErrorKind::kUnavailable, "the peer is gone");
    co_return Done();
  };
  run(take_late());
}

TEST_F(ShmHeartbeats, ThereAreNoneUnlessBothSidesWantThem) {
  for (const auto& [ours, theirs] : {std::pair(0, 50), std::pair(50, 0)}) {
    options.heartbeat_interval = milliseconds(ours);
    const auto peer = meet_raw(HeartbeatMs(theirs), 0);
    const auto wait = [&]() -> Task<Done> {
      Result<Message> nothing = co_await link->receive(server.after(milliseconds(400)));
      expect_error(nothing, ErrorKind::kDeadlineExceeded);
      co_return Done();
    };
    run(wait());
    EXPECT_EQ(peer->rings_heard(), 0);
    link.reset();
    listener.reset();
  }
}

}  // namespace
}  // namespace shoal::transport::shm
