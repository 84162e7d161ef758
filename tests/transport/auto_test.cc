// SPDX-License-Identifier: Apache-2.0
/// What auto adds to tcp and shm: who gets which.
#include "two_tasks.h"

namespace shoal::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Done = Result<void>;
using Link = std::unique_ptr<Connection>;

bool has(std::string_view scheme) { return built_in_transports().contains(std::string(scheme)); }

class Auto : public testing::Test {
 protected:
  void SetUp() override {
    if (!has("auto")) GTEST_SKIP() << "this build has no tcp";
  }
  /// The client goes to a listener of the server, by the schemes that each uses.
  void meet(const Setting& setting, std::string listens_by, std::string connects_by) {
    tasks_ = std::make_unique<TwoTasks>(setting);
    Result<Transport*> transport = server().transport(listens_by);
    ASSERT_TRUE(transport) << transport.error().message();
    auto listening = (*transport)->listen(any_address(listens_by), options);
    ASSERT_TRUE(listening) << listening.error().message();
    listener = std::move(*listening);
    to_ = {std::move(connects_by), listener->endpoint().address};
  }
  void TearDown() override { listener.reset(); }

  Environment& server() { return tasks_->server(); }
  Environment& client() { return tasks_->client(); }
  Deadline soon(Environment& env) { return tasks_->soon(env); }
  uint64_t messages(Environment& env, std::string_view scheme) { return (*env.transport(scheme))->stats().messages_sent; }
  Task<Result<Link>> accept() { return listener->accept(soon(server())); }
  Task<Result<Link>> connect() { return (*client().transport(to_.scheme))->connect(to_, options, soon(client())); }
  void run(Task<Done> serve, Task<Done> call) { tasks_->run(std::move(serve), std::move(call)); }

  /// The server sends back what comes, `count` times.
  Task<Done> echo(int count) {
    SHOAL_CO_TRY(const Link link, co_await accept());
    for (int i = 0; i < count; ++i) {
      SHOAL_CO_TRY(Message message, co_await link->receive(soon(server())));
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), soon(server())));
    }
    while (co_await link->receive(soon(server()))) continue;
    co_return Done();
  }
  Task<Done> talk(int count) {
    SHOAL_CO_TRY(const Link link, co_await connect());
    for (int i = 0; i < count; ++i) {
      SHOAL_CO_TRY_VOID(co_await link->send(weights_of(client(), 1000, uint64_t(i)), soon(client())));
      SHOAL_CO_TRY(const Message echoed, co_await link->receive(soon(client())));
      if (echoed.head.sequence != uint64_t(i)) co_return internal_error("out of order");
    }
    co_return Done();
  }

  LinkOptions options;
  std::unique_ptr<Listener> listener;

 private:
  std::unique_ptr<TwoTasks> tasks_;
  Endpoint to_;
};

constexpr int kMany = 100;
constexpr uint64_t kTalk = 4;  // What is said before messages are carried, at the most.

TEST_F(Auto, TasksOfOneMachineShareMemory) {
  if (!has("shm")) GTEST_SKIP() << "this build has no shm";
  meet({.scheme = "auto"}, "auto", "auto");
  run(echo(kMany), talk(kMany));
  EXPECT_GE(messages(client(), "shm"), uint64_t(kMany));
  EXPECT_LE(messages(client(), "tcp"), kTalk);
  EXPECT_EQ((*client().transport("auto"))->stats().bytes_copied, 0u);
}

TEST_F(Auto, ATaskWithoutSharedMemoryGetsTcp) {
  meet({.scheme = "auto", .without = "shm"}, "auto", "auto");
  run(echo(kMany), talk(kMany));
  EXPECT_GE(messages(client(), "tcp"), uint64_t(kMany));
}

TEST_F(Auto, APeerThatWasToldToUseTcpIsServed) {
  meet({.scheme = "auto"}, "auto", "tcp");
  run(echo(kMany), talk(kMany));
}

TEST_F(Auto, ATaskThatWasToldToUseTcpIsNamed) {
  meet({.scheme = "auto"}, "tcp", "auto");
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    SHOAL_CO_TRY(const Message first, co_await link->receive(soon(server())));
    Message refusal = make_error(server().buffers(), failed_precondition("the first message must be a hello"));
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(refusal), soon(server())));
    while (co_await link->receive(soon(server()))) continue;
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    Result<Link> link = co_await connect();
    expect_error(link, ErrorKind::kFailedPrecondition, "--transport");
    co_return Done();
  };
  run(serve(), call());
}

/// A server of another protocol closes the connection, because our hello is none of its own. Its reason means nothing to
/// people here.
TEST_F(Auto, ATaskThatWasToldToUseTcpAndClosesIsNamed) {
  for (const Error& why : {data_loss("a message that is no hello"), invalid_argument("unexpected message"),
                           failed_precondition("the first message must be a hello")}) {
    meet({.scheme = "auto"}, "tcp", "auto");
    const auto serve = [&]() -> Task<Done> {
      SHOAL_CO_TRY(const Link link, co_await accept());
      SHOAL_CO_TRY(const Message first, co_await link->receive(soon(server())));
      link->close(why);
      co_return Done();
    };
    const auto call = [&]() -> Task<Done> {
      Result<Link> link = co_await connect();
      expect_error(link, ErrorKind::kFailedPrecondition, "another --transport than auto");
      expect_error(link, ErrorKind::kFailedPrecondition, why.message());
      co_return Done();
    };
    run(serve(), call());
    TearDown();
  }
}

/// A failure that may pass is no refusal: the next attempt may meet another process.
TEST_F(Auto, APeerThatEndsIsNoOtherTransport) {
  meet({.scheme = "auto"}, "tcp", "auto");
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    link->close(unavailable("the task has ended"));
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    Result<Link> link = co_await connect();
    expect_error(link, ErrorKind::kUnavailable, "the task has ended");
    co_return Done();
  };
  run(serve(), call());
}

TEST_F(Auto, NobodyIsSentToAnotherListener) {
  meet({.scheme = "auto"}, "tcp", "auto");
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    SHOAL_CO_TRY(const Message first, co_await link->receive(soon(server())));
    Message offer = make_control(server().buffers(), "auto", "127.0.0.1:2222");
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(offer), soon(server())));
    while (co_await link->receive(soon(server()))) continue;
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    Result<Link> link = co_await connect();
    expect_error(link, ErrorKind::kFailedPrecondition, "offers shared memory at an address that is not valid");
    co_return Done();
  };
  run(serve(), call());
}

TEST_F(Auto, AnOfferThatLeadsNowhereIsLetGo) {
  meet({.scheme = "auto"}, "tcp", "auto");
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await accept());
    SHOAL_CO_TRY(const Message first, co_await link->receive(soon(server())));
    Message offer = make_control(server().buffers(), "auto", "auto-00112233445566778899aabbccddeeff");
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(offer), soon(server())));
    SHOAL_CO_TRY(const Message choice, co_await link->receive(soon(server())));
    SHOAL_CO_TRY(const Control control, read_control(choice));
    EXPECT_EQ(control.text, "tcp");
    SHOAL_CO_TRY(const Message carried, co_await link->receive(soon(server())));
    EXPECT_EQ(carried.head.sequence, 7u);
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    SHOAL_CO_TRY_VOID(co_await link->send(numbered(7), soon(client())));
    while (co_await link->receive(soon(client()))) continue;
    co_return Done();
  };
  run(serve(), call());
}

/// Neither keeps others from being let in, nor a place.
TEST_F(Auto, WhoSaysNothingIsDropped) {
  options.handshake_timeout = milliseconds(200);
  meet({.scheme = "auto"}, "auto", "tcp");
  const auto serve = [&]() -> Task<Done> {
    Result<Link> nobody = co_await listener->accept(server().after(seconds(1)));
    expect_error(nobody, ErrorKind::kDeadlineExceeded);
    co_return Done();
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect());
    Result<Message> end = co_await link->receive(soon(client()));
    expect_error(end, ErrorKind::kUnavailable);
    co_return Done();
  };
  run(serve(), call());
}

}  // namespace
}  // namespace shoal::transport
