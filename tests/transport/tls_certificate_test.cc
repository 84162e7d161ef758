// SPDX-License-Identifier: Apache-2.0
/// tcp with certificates: who gets in, who does not, and what both are told.
#include "test_authority.h"
#include "tls_meetings.h"

namespace shoal::transport {
namespace {

class TlsByCertificate : public TlsMeetings {
 protected:
  TlsByCertificate() : TlsMeetings(Setting{"tcp"}) {}
  std::optional<TestAuthority> authority;
  LinkOptions caller;  // The options of the client.

  void SetUp() override {
    TlsMeetings::SetUp();
    authority.emplace();
    caller = options;
    options.credential = authority->credential("ps", 0);
    caller.credential = authority->credential("worker", 1);
    caller.expected_peer = PeerIdentity{"ps", 0};
  }
  /// Both hear why, and the listener goes on.
  void expect_refused(const std::string& client_part, const std::string& server_part) {
    const LinkOptions good = {.credential = authority->credential("chief", 0)};
    expect_refusal(caller, client_part, server_part);
    expect_meeting(listener->endpoint(), good);
  }
};

TEST_F(TlsByCertificate, EachKnowsWhoTheOtherIs) {
  listen();
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks.soon(server)));
    EXPECT_EQ(link->identity(), (PeerIdentity{"worker", 1}));
    co_return co_await wait_for_peer_to_leave(*link, server);
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await connect(listener->endpoint(), caller));
    EXPECT_EQ(link->identity(), (PeerIdentity{"ps", 0}));
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_F(TlsByCertificate, ATokenProvesNobodysRole) {
  options.credential = caller.credential = make_token();
  listen();
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Link link, co_await listener->accept(tasks.soon(server)));
    EXPECT_EQ(link->identity(), std::nullopt);
    co_return co_await wait_for_peer_to_leave(*link, server);
  };
  const auto call = [&]() -> Task<Done> {
    // It does not care who is there, either.
    SHOAL_CO_TRY(const Link link, co_await connect(listener->endpoint(), caller));
    EXPECT_EQ(link->identity(), std::nullopt);
    co_return Done();
  };
  tasks.run(serve(), call());
}

TEST_F(TlsByCertificate, CarriesMessages) {
  listen();
  expect_meeting(listener->endpoint(), caller);
  caller.expected_peer = std::nullopt;
  expect_meeting(listener->endpoint(), caller);
}

TEST_F(TlsByCertificate, OfAnotherCaIsRefused) {
  listen();
  caller.credential = TestAuthority().credential("worker", 1);
  expect_refused("is not from a CA that this task trusts (ca.pem); make the certificates of all tasks with one CA",
                 "it refuses this task's certificate: it trusts another CA, or has a token");
}

/// Believes the listener's CA, but has a certificate of another.
TEST_F(TlsByCertificate, OfAnotherCaIsRefusedByTheListener) {
  listen();
  const TestAuthority other;
  caller.credential = std::make_shared<const Credential>(
      value_or_raise(Certificate::parse(other.make("worker", 1), other.certificate() + authority->certificate())));
  expect_refused("it refuses this task's certificate: it trusts another CA",
                 "its certificate is not from a CA that this task trusts (ca.pem)");
}

TEST_F(TlsByCertificate, ThatHasExpiredIsRefused) {
  listen();
  caller.credential = authority->credential("worker", 1, hours_from_now(-3, -2));
  expect_refused("it refuses this task's certificate: it, or its CA, has expired; make a new one (shoal keys task)",
                 "its certificate has expired; make a new one (shoal keys task)");
}

TEST_F(TlsByCertificate, ThatHasExpiredIsRefusedOfAListener) {
  options.credential = authority->credential("ps", 0, hours_from_now(-3, -2));
  listen();
  expect_refusal(caller, "its certificate has expired; make a new one",
                 "it refuses this task's certificate: it, or its CA, has expired");
}

TEST_F(TlsByCertificate, ThatIsNotValidYetIsRefused) {
  listen();
  caller.credential = authority->credential("worker", 1, hours_from_now(2, 3));
  expect_refused("it refuses this task's certificate: it is bad, or not valid yet; are the clocks",
                 "its certificate is not valid yet; are the clocks of both machines right?");
}

TEST_F(TlsByCertificate, OfAnExpiredCaIsRefused) {
  const Validity past = hours_from_now(-5, -2);
  const TestAuthority expired(past);
  options.credential = expired.credential("ps", 0, past);
  listen();
  caller.credential = expired.credential("worker", 1, past);
  expect_refusal(caller, "has expired", "it, or its CA, has expired");
}

TEST_F(TlsByCertificate, OfAnotherTaskThanExpectedIsRefused) {
  for (const PeerIdentity& other : {PeerIdentity{"worker", 0}, PeerIdentity{"ps", 1}}) {
    options.credential = authority->credential(other.role, other.index);
    listen();
    expect_refusal(caller, "its certificate names " + to_string(other) + ", but ps 0 is expected there; give each task",
                   "it refuses this task's certificate: another task is expected here");
  }
}

TEST_F(TlsByCertificate, ATokenInsteadIsRefused) {
  listen();
  caller.credential = make_token();
  expect_refused("has a certificate, but this task has a token; start all tasks",
                 "it refuses this task's certificate: it trusts another CA, or has a token");
}

TEST_F(TlsByCertificate, AListenerWithATokenIsNamed) {
  options.credential = make_token();
  listen();
  expect_refusal(caller, "has no certificate, perhaps a token, but this task has a certificate",
                 "it has no token, perhaps a certificate, but this task has a token; start all tasks");
  expect_meeting(listener->endpoint(), options);
}

TEST_F(TlsByCertificate, WhoHasNoneIsToldSo) {
  listen();
  caller.credential = nullptr;
  expect_refused("requires a certificate, but this task has none; start all tasks",
                 "it has no certificate; start all tasks");
}

TEST_F(TlsByCertificate, AListenerWithoutOneIsNamed) {
  options.credential = nullptr;
  listen();
  expect_refusal(caller, "has no certificate, but this task has one; start all tasks",
                 "it has a token or a certificate, but this task has neither");
  expect_meeting(listener->endpoint(), options);
}

TEST_F(TlsByCertificate, GoesFromOneCaToTheNext) {
  const TestAuthority next;
  const auto both = [&](const TestAuthority& of, const char* role) {
    return std::make_shared<const Credential>(
        value_or_raise(Certificate::parse(of.make(role, 0), next.certificate() + authority->certificate())));
  };
  options.credential = both(*authority, "ps");
  listen();
  caller.credential = both(next, "worker");
  expect_meeting(listener->endpoint(), caller);
}

TEST_F(TlsByCertificate, EncryptsBeyondThisMachineWithoutAnyWarning) {
  auto everywhere = tasks.transport(server).listen({"tcp", "0.0.0.0:0"}, options);
  EXPECT_TRUE(everywhere) << everywhere.error().message();
  EXPECT_EQ(tasks.log(), "");
}

}  // namespace
}  // namespace shoal::transport
