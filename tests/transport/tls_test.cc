// SPDX-License-Identifier: Apache-2.0
/// tcp with a token: who gets in, who does not, and what an observer sees.
#include <cstring>

#include "raw_peer.h"
#include "tap.h"
#include "tls_meetings.h"

namespace shoal::transport {
namespace {

using testing::Not;

class Tls : public TlsMeetings {
 protected:
  Tls() : TlsMeetings(Setting{.scheme = "tcp", .token = true}) {}
};

bool contains(const Bytes& bytes, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(text) != std::string_view::npos;
}

TEST_F(Tls, AnotherTokenIsRefusedInOneSentence) {
  listen();
  LinkOptions other = options;
  other.credential = make_token();
  expect_refusal(other, listener->endpoint().address + ": has another token",
                 "has another token than this task, or is another version of Shoal; start all tasks");
  for (const auto& token : {options.credential, other.credential}) {
    EXPECT_THAT(tasks.log(), Not(HasSubstr(std::get<Token>(*token).to_text().substr(0, 16))));
  }
  expect_meeting(listener->endpoint());
}

TEST_F(Tls, WhoHasNoTokenIsToldSo) {
  listen();
  expect_refusal({}, "requires the job's token, but this task has none", "it has no token; start all tasks");
  expect_meeting(listener->endpoint());
}

TEST_F(Tls, AListenerWithoutATokenIsNamed) {
  const LinkOptions with = options;
  options.credential = nullptr;
  listen();
  expect_refusal(with, "has no token, but this task has one",
                 "it has a token or a certificate, but this task has neither; start all tasks");
  expect_meeting(listener->endpoint());
}

TEST_F(Tls, ListenersThatAreNotShoalAreNoPeers) {
  for (const char* answer : {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH\r\n"}) {
    RawListener other;
    std::thread answers([&] {
      Bytes bytes(std::strlen(answer));
      std::memcpy(bytes.data(), answer, bytes.size());
      other.answer_one(bytes);
    });
    const auto call = [&]() -> Task<Done> {
      Result<Link> link = co_await connect(other.endpoint(), options);
      EXPECT_FALSE(link);
      if (!link) {
        EXPECT_THAT(link.error().message(), testing::AnyOf(HasSubstr("TLS"), HasSubstr("handshake")));
      }
      co_return Done();
    };
    tasks.run_client(call());
    answers.join();
  }
}

TEST_F(Tls, AnObserverSeesNothingButItsBeginning) {
  listen();
  Tap tap(listener->endpoint());
  expect_meeting(tap.endpoint());
  const Tap::Recording& seen = tap.recording();
  for (const Bytes* bytes : {&seen.of_client, &seen.of_server}) {
    EXPECT_GT(bytes->size(), 500u);
    EXPECT_EQ(bytes->front(), std::byte(22));
    for (const char* secret : {"SHOA", "SHFR", "SHL1", "plain text", "verb"})
      EXPECT_FALSE(contains(*bytes, secret)) << secret;
  }
  EXPECT_TRUE(contains(seen.of_client, "shoal-6-"));  // The name of the key is no secret.
}

TEST_F(Tls, ARecordedConnectionCannotBePlayedAgain) {
  listen();
  Bytes recorded;
  {
    Tap tap(listener->endpoint());
    expect_meeting(tap.endpoint());
    recorded = tap.recording().of_client;
  }
  std::atomic<bool> ended = false;
  const auto serve = [&]() -> Task<Done> {
    while (!ended) {
      Result<Link> nobody = co_await listener->accept(server.after(milliseconds(5)));
      expect_error(nobody, ErrorKind::kDeadlineExceeded);
    }
    co_return Done();
  };
  const auto replay = [&]() -> Task<Done> {
    const auto play = [&] {
      RawPeer again(listener->endpoint());
      again.send(recorded);
      EXPECT_TRUE(again.ended_within(10000));
      ended = true;
    };
    Work work = play;
    co_return co_await client.offload(std::move(work));
  };
  tasks.run(serve(), replay());
  expect_meeting(listener->endpoint());
}

TEST_F(Tls, AByteChangedOnItsWayEndsTheConnection) {
  listen();
  size_t of_client = 0, of_server = 0;
  {
    Tap tap(listener->endpoint());
    expect_meeting(tap.endpoint());
    of_client = tap.recording().of_client.size();
    of_server = tap.recording().of_server.size();
  }
  // Anywhere: in the handshake, where the peers do not meet, or behind it, where they part; but not in their good-byes.
  constexpr size_t kStride = 61, kGoodbyeBytes = 700;
  std::vector<Tap::Change> changes;
  for (size_t at = 0; at + kGoodbyeBytes < of_client; at += kStride) changes.push_back({at, true});
  for (size_t at = 0; at + kGoodbyeBytes < of_server; at += kStride) changes.push_back({at, false});
  size_t broken = 0;
  options.handshake_timeout = milliseconds(500);  // A changed length may leave both waiting.
  listen();
  for (const Tap::Change& change : changes) {
    SCOPED_TRACE(std::string(change.of_client ? "client" : "server") + " byte " + std::to_string(change.at));
    Tap tap(listener->endpoint(), change);
    std::atomic<bool> done = false;
    int whole = 0;
    const auto serve = [&]() -> Task<Done> {
      Result<Link> link = cancelled();
      while (!link && !done) link = co_await listener->accept(server.after(milliseconds(5)));
      while (link && !done) {
        Result<Message> message = co_await (*link)->receive(server.after(milliseconds(5)));
        if (message) (void)(*link)->try_send(*message);
        if (!message && message.error().kind() != ErrorKind::kDeadlineExceeded) break;
      }
      co_return Done();
    };
    const auto call = [&]() -> Task<Done> {
      Result<Link> link = co_await connect(tap.endpoint(), options);
      for (int i = 0; link && i < 2; ++i) {
        Message message = make_control(client.buffers(), "verb", "plain text that nobody shall read");
        Result<void> sent = co_await (*link)->send(std::move(message), tasks.soon(client));
        Result<Message> echo = co_await (*link)->receive(client.after(milliseconds(500)));
        if (!sent || !echo) break;
        EXPECT_EQ(read_control(*echo)->text, "plain text that nobody shall read");
        ++whole;
      }
      done = true;
      co_return Done();
    };
    tasks.run(serve(), call());
    broken += whole < 2;
  }
  EXPECT_GE(changes.size(), 10u);
  EXPECT_GE(broken + 2, changes.size());  // The version bytes of a first record are ignored by design.
}

TEST_F(Tls, LargeMessagesInBothDirectionsAtOnce) {
  constexpr size_t kBytes = size_t(64) << 20;
  listen();
  const auto both = [&](Environment& env, Task<Result<Link>> meeting) -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await std::move(meeting));
    link->set_receive_limit(kBig);
    Message message = make_weights(env.buffers(), kBytes);
    const auto payload = mutable_payload(message);
    for (size_t i = 0; i < kBytes; i += 8) std::memcpy(payload.data() + i, &i, 8);
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks.soon(env)));
    SHOAL_CO_TRY(const Message theirs, co_await link->receive(tasks.soon(env)));
    const auto received = theirs.payload();
    EXPECT_EQ(received.size(), kBytes);
    size_t wrong = 0;
    for (size_t i = 0; i < received.size(); i += 8) wrong += std::memcmp(received.data() + i, &i, 8) != 0;
    EXPECT_EQ(wrong, 0u);
    Message bye = numbered(0);  // Neither leaves before the other has everything.
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(bye), tasks.soon(env)));
    Result<Message> last = co_await link->receive(tasks.soon(env));
    co_return last ? Done() : Done(last.error());
  };
  tasks.run(both(server, listener->accept(tasks.soon(server))), both(client, connect(listener->endpoint(), options)));
}

TEST_F(Tls, EncryptsBeyondThisMachineWithoutAnyWarning) {
  auto everywhere = tasks.transport(server).listen({"tcp", "0.0.0.0:0"}, options);
  EXPECT_TRUE(everywhere) << everywhere.error().message();
  EXPECT_EQ(tasks.log(), "");
}

}  // namespace
}  // namespace shoal::transport
