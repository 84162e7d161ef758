// SPDX-License-Identifier: Apache-2.0
/// The rights that a certificate gives: a parameter server over tcp, and peers that claim more than they prove.
#include <thread>

#include "shoal/cluster/parameter_server.h"
#include "test_authority.h"
#include "two_tasks.h"

namespace shoal::cluster {
namespace {

using testing::HasSubstr;
using transport::Connection;
using transport::Message;
using transport::PeerIdentity;

constexpr const char* kJob = "chief 0: a:1\nps 0: b:1\nworker 0: c:1\nworker 1: c:2\n";

/// A server that runs as long as the test; the test plays its peers.
class CertificateRights : public testing::Test {
 protected:
  transport::TwoTasks tasks{transport::Setting{"tcp"}};
  Environment& client = tasks.client();
  std::optional<transport::TestAuthority> authority;
  std::thread server;
  Result<void> served;
  transport::Endpoint address;

  void SetUp() override {
    if (!SHOAL_TEST_TLS) GTEST_SKIP() << "this build has no TLS (SHOAL_TLS=OFF)";
    authority.emplace();
    ParameterServerOptions options;
    options.identity = {.job = kJob, .role = "ps", .index = 0, .incarnation = 1, .strategy = "async"};
    options.listen_at = {"tcp", "127.0.0.1:0"};
    options.link.credential = authority->credential("ps", 0);
    server = std::thread([this, options] { served = tasks.server().run(run_parameter_server(tasks.server(), options)); });
    const std::string mark = "parameter server at tcp://";
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    size_t at = std::string::npos;
    while (at == std::string::npos && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
      at = tasks.log().find(mark);
    }
    ASSERT_NE(at, std::string::npos);
    const std::string log = tasks.log().substr(at + mark.size());
    address = {"tcp", log.substr(0, log.find(','))};
  }
  /// The chief ends the job.
  void TearDown() override {
    if (!server.joinable()) return;
    const auto lead = [&]() -> Task<Result<void>> {
      const PeerIdentity chief{"chief", 0};
      auto joining = join(chief, chief);
      SHOAL_CO_TRY(const auto link, co_await std::move(joining));
      const JobEnd end{.failed = false, .reason = "max_steps"};
      for (const char* const verb : {"finish", "done"}) {
        Message word = transport::make_control(client.buffers(), verb, to_json(end));
        auto asking = ask(*link, std::move(word));
        SHOAL_CO_TRY(const Message answer, co_await std::move(asking));
        EXPECT_EQ(answer.head.kind, transport::MessageKind::kControl);
      }
      co_return Result<void>();
    };
    tasks.run_client(lead());
    tasks.end_client();
    server.join();
    EXPECT_TRUE(served) << served.error().message();
  }

  Task<Result<std::unique_ptr<Connection>>> connect(PeerIdentity proves) {
    transport::LinkOptions options{.credential = authority->credential(proves.role, proves.index)};
    options.expected_peer = PeerIdentity{"ps", 0};
    return tasks.transport(client).connect(address, std::move(options), tasks.soon(client));
  }
  static Task<Result<Message>> ask_until(Connection& link, Message message, Deadline deadline) {
    SHOAL_CO_TRY_VOID(co_await link.send(std::move(message), deadline));
    SHOAL_CO_TRY(Message answer, co_await link.receive(deadline));
    if (answer.head.kind == transport::MessageKind::kError) co_return transport::read_error(answer);
    co_return answer;
  }
  Task<Result<Message>> ask(Connection& link, Message message) {
    return ask_until(link, std::move(message), tasks.soon(client));
  }
  /// Connects with the certificate of `proves`, and is welcomed as `says`.
  Task<Result<std::unique_ptr<Connection>>> join(PeerIdentity proves, PeerIdentity says) {
    auto connecting = connect(proves);
    SHOAL_CO_TRY(auto link, co_await std::move(connecting));
    transport::Hello hello;
    hello.job = kJob;
    hello.role = says.role;
    hello.index = says.index;
    hello.incarnation = client.entropy() | 1;
    hello.strategy = "async";
    Message message = transport::make_hello(client.buffers(), hello);
    auto asking = ask(*link, std::move(message));
    SHOAL_CO_TRY(const Message welcome, co_await std::move(asking));
    EXPECT_EQ(welcome.head.kind, transport::MessageKind::kControl);
    co_return std::move(link);
  }
  void expect_refused(const PeerIdentity& proves, const PeerIdentity& says, const std::string& why) {
    const auto call = [&]() -> Task<Result<void>> {
      auto joining = join(proves, says);
      const auto link = co_await std::move(joining);
      transport::expect_error(link, ErrorKind::kFailedPrecondition, why);
      co_return Result<void>();
    };
    tasks.run_client(call());
    EXPECT_THAT(tasks.log(), HasSubstr("refused " + to_string(says) + ": "));
  }
  Message snapshot_part() {
    const std::array<std::byte, 8> bytes{};
    return transport::make_snapshot_part(client.buffers(), {.name = "weights", .total_bytes = 8, .payload = bytes});
  }
};

TEST_F(CertificateRights, AreOfTheTaskThatItNames) {
  const PeerIdentity worker{"worker", 0};
  expect_refused(worker, {"chief", 0}, "the certificate is that of worker 0, and not of chief 0; give each task its own");
  expect_refused(worker, {"worker", 1}, "the certificate is that of worker 0, and not of worker 1");
  expect_refused(worker, {"ps", 1}, "the certificate is that of worker 0, and not of ps 1");
  expect_refused({"ps", 2}, {"ps", 1}, "the certificate is that of ps 2, and not of ps 1");
  expect_refused({"ps", 0}, worker, "the certificate is that of ps 0, and not of worker 0");
  expect_refused({"chief", 0}, worker, "the certificate is that of chief 0, and not of worker 0");
  expect_refused({"chief", 0}, {"master", 0}, "the certificate is that of chief 0, and not of master 0");
}

TEST_F(CertificateRights, OfAnEvaluatorAreNone) {
  const PeerIdentity evaluator{"evaluator", 0};
  expect_refused(evaluator, evaluator, "a evaluator has no business with a parameter server");
  expect_refused(evaluator, {"worker", 0}, "the certificate is that of evaluator 0, and not of worker 0");
  // A peer may not leave its identity out, either.
  const auto push = [&]() -> Task<Result<void>> {
    auto connecting = connect(evaluator);
    SHOAL_CO_TRY(const auto link, co_await std::move(connecting));
    Message part = snapshot_part();
    auto asking = ask(*link, std::move(part));
    const Result<Message> answer = co_await std::move(asking);
    EXPECT_FALSE(answer);
    co_return Result<void>();
  };
  tasks.run_client(push());
}

TEST_F(CertificateRights, OfAWorkerAreNotThoseOfTheChief) {
  const auto call = [&]() -> Task<Result<void>> {
    const PeerIdentity worker{"worker", 1};
    auto joining = join(worker, worker);
    SHOAL_CO_TRY(const auto link, co_await std::move(joining));
    for (const char* verb : {"status", "prepare", "ready", "hold", "read", "release", "stop", "finish"}) {
      Message message = transport::make_control(client.buffers(), verb, "{}");
      auto asking = ask(*link, std::move(message));
      const Result<Message> answer = co_await std::move(asking);
      transport::expect_error(answer, ErrorKind::kFailedPrecondition, "only the chief may ask for that");
    }
    Message part = snapshot_part();
    auto restoring = ask(*link, std::move(part));
    const Result<Message> restored = co_await std::move(restoring);
    transport::expect_error(restored, ErrorKind::kFailedPrecondition, "only the chief restores");
    Message welcome = transport::make_control(client.buffers(), "welcome");
    auto asking = ask(*link, std::move(welcome));
    const Result<Message> answer = co_await std::move(asking);
    EXPECT_TRUE(answer);  // The peer belongs to the job all the while.
    co_return Result<void>();
  };
  tasks.run_client(call());
}

}  // namespace
}  // namespace shoal::cluster
