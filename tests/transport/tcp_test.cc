// SPDX-License-Identifier: Apache-2.0
/// What only tcp has: addresses, protocol versions, checksums, other processes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "child_process.h"
#include "raw_peer.h"
#include "shoal/base/production.h"
#include "split_message.h"
#include "two_tasks.h"

namespace shoal::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Done = Result<void>;
using Link = std::unique_ptr<Connection>;

class Tcp : public testing::Test {
 protected:
  std::optional<TwoTasks> tasks;
  LinkOptions options;

  void SetUp() override {
    if (!built_in_transports().contains("tcp")) GTEST_SKIP() << "this build has no tcp (SHOAL_TCP=OFF)";
    tasks.emplace(Setting{"tcp"});
  }
  Result<std::unique_ptr<Listener>> listen(std::string address) {
    return tasks->transport(tasks->server()).listen({"tcp", std::move(address)}, options);
  }
  Result<Link> connect(Endpoint to) {
    const auto call = [&]() -> Task<Result<Link>> {
      co_return co_await tasks->transport(tasks->client()).connect(to, options, tasks->soon(tasks->client()));
    };
    return tasks->client().run(call());
  }
  /// A listener accepts one, the client connects by `host`; both must work.
  void expect_meeting_by(const std::string& listen_at, const std::string& host) {
    auto listener = listen(listen_at);
    ASSERT_TRUE(listener) << listener.error().message();
    const std::string address = (*listener)->endpoint().address;
    const Endpoint to{"tcp", host + address.substr(address.rfind(':'))};
    const auto serve = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Link link, co_await (*listener)->accept(tasks->soon(tasks->server())));
      SHOAL_CO_TRY(const Message message, co_await link->receive(tasks->soon(tasks->server())));
      co_return Done();
    };
    const auto call = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Link link,
                   co_await tasks->transport(tasks->client()).connect(to, options, tasks->soon(tasks->client())));
      co_return co_await link->send(numbered(1), tasks->soon(tasks->client()));
    };
    tasks->run(serve(), call());
  }
};

TEST_F(Tcp, SendsOnWhatArrivedInTwoPieces) {
  options.checksum = true;
  options.receive_bytes_max = 1 << 20;
  auto listener = listen("127.0.0.1:0");
  ASSERT_TRUE(listener) << listener.error().message();
  constexpr size_t kBytes = 100'000;
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await (*listener)->accept(tasks->soon(tasks->server())));
    SHOAL_CO_TRY(const Message message, co_await link->receive(tasks->soon(tasks->server())));
    const auto payload = message.payload();
    EXPECT_EQ(payload.size(), kBytes);
    EXPECT_TRUE(std::all_of(payload.begin(), payload.end(), [](std::byte b) { return b == std::byte{7}; }));
    co_return Done();
  };
  const SplitMessage split(weights_of(tasks->client(), kBytes, 7));
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(
        const Link link,
        co_await tasks->transport(tasks->client()).connect((*listener)->endpoint(), options, tasks->soon(tasks->client())));
    co_return co_await link->send(split.message, tasks->soon(tasks->client()));
  };
  tasks->run(serve(), call());
  EXPECT_EQ(tasks->transport(tasks->client()).stats().bytes_copied, kBytes);
}

TEST_F(Tcp, SaysWhatIsWrongWithAnAddress) {
  const std::pair<const char*, const char*> cases[] = {
      {"127.0.0.1", "no port"},
      {"127.0.0.1:", "port is not a number"},
      {"127.0.0.1:x", "port is not a number"},
      {"127.0.0.1:70000", "port"},
      {"127.0.0.1:-1", "port"},
      {":80", "no host"},
      {"::1:80", "more than one"},
      {"[::1:80", "closing bracket"},
      {"127.0.0.1:80 ", "port"},
  };
  for (const auto& [address, what] : cases) {
    const auto listener = listen(address);
    ASSERT_FALSE(listener) << address;
    EXPECT_EQ(listener.error().kind(), ErrorKind::kInvalidArgument) << address;
    EXPECT_THAT(listener.error().message(), HasSubstr(what));
    const auto link = connect({"tcp", address});
    ASSERT_FALSE(link) << address;
    EXPECT_EQ(link.error().kind(), ErrorKind::kInvalidArgument) << address;
  }
}

TEST_F(Tcp, MeetsByNumberAndByName) {
  expect_meeting_by("127.0.0.1:0", "127.0.0.1");
  expect_meeting_by("localhost:0", "localhost");
}

TEST_F(Tcp, MeetsByIPv6) {
  const auto probe = listen("[::1]:0");
  if (!probe) GTEST_SKIP() << "no IPv6 here: " << probe.error().message();
  EXPECT_THAT((*probe)->endpoint().address, testing::StartsWith("[::1]:"));
  expect_meeting_by("[::1]:0", "[::1]");
}

TEST_F(Tcp, NamesThatDoNotResolveAreUnavailable) {
  const auto link = connect({"tcp", "no-such-host.invalid:1"});
  expect_error(link, ErrorKind::kUnavailable, "does not resolve");
  const auto listener = listen("no-such-host.invalid:1");
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().kind(), ErrorKind::kNotFound);  // The kind is its own: it may be worth waiting for.
}

TEST_F(Tcp, BeyondThisMachineOnlyIfInsecureIsAllowed) {
  for (const char* address : {"0.0.0.0:0", "192.0.2.1:2222", "[::]:0", "[2001:db8::1]:2222"}) {
    const auto listener = listen(address);
    ASSERT_FALSE(listener) << address;
    EXPECT_EQ(listener.error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_THAT(listener.error().message(), HasSubstr("--insecure"));
    EXPECT_THAT(listener.error().message(), HasSubstr("shoal keys token"));
    const auto link = connect({"tcp", address});
    ASSERT_FALSE(link) << address;
    EXPECT_EQ(link.error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_THAT(link.error().message(), HasSubstr("SHOAL_INSECURE=1"));
  }
  options.insecure = true;
  EXPECT_TRUE(listen("0.0.0.0:0"));
  EXPECT_TRUE(listen("0.0.0.0:0"));
  EXPECT_THAT(tasks->log(), testing::ContainsRegex("^--insecure: messages [^\n]*\n$"));  // It was said once.
}

TEST_F(Tcp, ABuildWithoutTlsRefusesATokenInASentence) {
  if (SHOAL_TEST_TLS) GTEST_SKIP() << "this build has TLS";
  options.credential = make_token();
  const auto listener = listen("127.0.0.1:0");
  expect_error(listener, ErrorKind::kFailedPrecondition, "this build cannot encrypt, which a token requires");
  const auto link = connect({"tcp", "127.0.0.1:1"});
  expect_error(link, ErrorKind::kFailedPrecondition, "-DSHOAL_TLS=ON");
}

TEST_F(Tcp, ListensOnTheNamedAddressOnly) {
  const auto listener = listen("127.0.0.2:0");
  ASSERT_TRUE(listener) << listener.error().message();
  const std::string address = (*listener)->endpoint().address;
  EXPECT_THAT(address, testing::StartsWith("127.0.0.2:"));
  const auto elsewhere = connect({"tcp", "127.0.0.1" + address.substr(address.rfind(':'))});
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().kind(), ErrorKind::kUnavailable);
}

TEST_F(Tcp, AnotherProtocolVersionIsRefusedInOneSentence) {
  RawListener newer;
  std::thread answers([&] { newer.answer_one(raw_preamble(kProtocolVersion + 1)); });
  const auto link = connect(newer.endpoint());
  answers.join();
  expect_error(link, ErrorKind::kFailedPrecondition,
               "speaks protocol " + std::to_string(kProtocolVersion + 1) + ", but this build speaks " +
                   std::to_string(kProtocolVersion));
}

TEST_F(Tcp, AListenerThatIsNotShoalIsNoPeer) {
  RawListener web;
  Bytes answer(100, std::byte('H'));
  std::thread answers([&] { web.answer_one(answer); });
  const auto link = connect(web.endpoint());
  answers.join();
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().kind(), ErrorKind::kFailedPrecondition);

  options.handshake_timeout = milliseconds(50);
  RawListener silent;
  std::thread waits([&] { silent.answer_one({}); });
  const auto never = connect(silent.endpoint());
  waits.join();
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().kind(), ErrorKind::kUnavailable);
}

TEST_F(Tcp, ConnectHasADeadline) {
  RawListener silent;
  std::thread waits([&] { silent.answer_one({}); });
  const auto call = [&]() -> Task<Done> {
    Environment& client = tasks->client();
    Result<Link> link =
        co_await tasks->transport(client).connect(silent.endpoint(), options, client.after(milliseconds(30)));
    expect_error(link, ErrorKind::kDeadlineExceeded);
    co_return Done();
  };
  tasks->run_client(call());
  waits.join();
}

TEST_F(Tcp, ChecksumsWhenEitherSideAsks) {
  options.checksum = true;
  auto listener = listen("127.0.0.1:0");
  ASSERT_TRUE(listener);
  Environment& server = tasks->server();
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link good, co_await (*listener)->accept(tasks->soon(server)));
    SHOAL_CO_TRY(const Message whole, co_await good->receive(tasks->soon(server)));
    SHOAL_CO_TRY(const Link bad, co_await (*listener)->accept(tasks->soon(server)));
    Result<Message> damaged = co_await bad->receive(tasks->soon(server));
    expect_error(damaged, ErrorKind::kDataLoss, "checksum differs");
    SHOAL_CO_TRY(const Link lazy, co_await (*listener)->accept(tasks->soon(server)));
    Result<Message> missing = co_await lazy->receive(tasks->soon(server));
    expect_error(missing, ErrorKind::kDataLoss, "without the agreed checksum");
    co_return Done();
  };
  std::thread serves([&] {
    const Done done = server.run(serve());
    EXPECT_TRUE(done) << done.error().message();
  });
  const auto call = [&]() -> Task<Done> {
    Environment& client = tasks->client();
    LinkOptions ours;  // They ask for none, and do as the listener asks.
    SHOAL_CO_TRY(const Link link,
                 co_await tasks->transport(client).connect((*listener)->endpoint(), ours, tasks->soon(client)));
    Message message = weights_of(client, 1000, 1);
    co_return co_await link->send(std::move(message), tasks->soon(client));
  };
  tasks->run_client(call());

  const auto pool = BufferPool::create();
  const Message control = make_control(*pool, "verb", "text");
  Bytes body(control.body->data(), control.body->data() + control.body_bytes());
  const RawFrame frame{
      .kind = uint8_t(MessageKind::kControl), .flags = 1, .length = body.size(), .checksum = raw_checksum(body)};
  std::vector<std::unique_ptr<RawPeer>> peers;
  body[body.size() / 2] ^= std::byte(1);
  for (const uint16_t flags : {uint16_t(1), uint16_t(0)}) {
    RawPeer& peer = *peers.emplace_back(std::make_unique<RawPeer>((*listener)->endpoint()));
    Bytes bytes = raw_preamble(kProtocolVersion);
    RawFrame with_flags = frame;
    with_flags.flags = flags;
    append(bytes, raw_frame(with_flags));
    append(bytes, body);
    EXPECT_TRUE(peer.send(bytes));
  }
  serves.join();
}

TEST_F(Tcp, BytesOnTheWireAreAsDocumented) {
  auto listener = listen("127.0.0.1:0");
  ASSERT_TRUE(listener);
  Environment& server = tasks->server();
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await (*listener)->accept(tasks->soon(server)));
    SHOAL_CO_TRY(Message message, co_await link->receive(tasks->soon(server)));
    EXPECT_EQ(message.head.sequence, 0x1122334455667788u);
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), tasks->soon(server)));
    Result<Message> end = co_await link->receive(tasks->soon(server));
    expect_error(end, ErrorKind::kUnavailable);
    co_return Done();
  };
  std::thread serves([&] { EXPECT_TRUE(server.run(serve())); });
  {
    RawPeer peer((*listener)->endpoint());
    const Bytes frame = raw_frame({.sequence = 0x1122334455667788u});
    EXPECT_TRUE(peer.send(raw_preamble(kProtocolVersion)));
    EXPECT_EQ(peer.receive(16), raw_preamble(kProtocolVersion, 0, kUsualHeartbeatMs));
    EXPECT_TRUE(peer.send(frame));
    EXPECT_EQ(peer.receive(88), frame);
    peer.reset();
  }
  serves.join();
}

// ---- another process, killed ----------------------------------------------------------------------------------------

TEST_F(Tcp, AProcessThatIsKilledIsNoticed) {
  auto listener = listen("127.0.0.1:0");
  ASSERT_TRUE(listener);
  Environment& server = tasks->server();
  const std::vector<std::string> words{"--child", to_string((*listener)->endpoint())};
  const auto serve = [&]() -> Task<Done> {
    for (const bool while_sending : {false, true}) {
      ChildProcess child(words);
      SHOAL_CO_TRY(const Link link, co_await (*listener)->accept(tasks->soon(server)));
      link->set_receive_limit(1 << 20);
      SHOAL_CO_TRY(const Message hello, co_await link->receive(tasks->soon(server)));
      if (!while_sending) child.kill();
      Result<void> sent;
      for (uint64_t i = 0; while_sending && sent; ++i) {
        Message message = weights_of(server, 512 * 1024, i);
        sent = co_await link->send(std::move(message), tasks->soon(server));
        if (i == 20) child.kill();
      }
      EXPECT_TRUE(sent || sent.error().kind() == ErrorKind::kUnavailable);
      const SteadyTime killed = server.now();
      while (true) {
        Result<Message> received = co_await link->receive(tasks->soon(server));
        if (received) continue;
        EXPECT_EQ(received.error().kind(), ErrorKind::kUnavailable);
        break;
      }
      EXPECT_LT(server.now() - killed, seconds(5));
    }
    co_return Done();
  };
  const Done done = server.run(serve());
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace shoal::transport

/// Connects, says a word, then echoes until it is killed.
int child_process(const char* endpoint) {
  using namespace shoal;
  using namespace shoal::transport;
  const auto to = parse_endpoint(endpoint);
  if (!to) return 2;
  const auto env = make_production_environment({.task = "child", .transports = built_in_transports()});
  const auto echoes = [&]() -> Task<Result<void>> {
    SHOAL_CO_TRY(Transport* const transport, env->transport(to->scheme));
    const LinkOptions options{.receive_bytes_max = 1 << 20};
    SHOAL_CO_TRY(const std::unique_ptr<Connection> link,
                 co_await transport->connect(*to, options, env->after(std::chrono::seconds(30))));
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(1), env->after(std::chrono::seconds(30))));
    while (true) {
      SHOAL_CO_TRY(Message message, co_await link->receive(env->after(std::chrono::seconds(60))));
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), env->after(std::chrono::seconds(60))));
    }
  };
  return env->run(echoes()) ? 0 : 1;
}
