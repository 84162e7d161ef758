// SPDX-License-Identifier: Apache-2.0
/// The TLS layer by itself: two sessions on a pair of sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "stream.h"
#include "two_tasks.h"

namespace shoal::transport::tcp {
namespace {

class TlsSessions : public testing::Test {
 protected:
  const std::shared_ptr<const Credential> token = make_token();
  int sockets[2] = {-1, -1};
  std::unique_ptr<TlsSession> client, server;

  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0); }
  void TearDown() override {
    for (int socket : sockets) ::close(socket);
  }
  void start(const TlsOptions& options = {}) {
    for (const TlsSide side : {TlsSide::kClient, TlsSide::kServer}) {
      auto context = make_tls_context(*token, options);
      ASSERT_TRUE(context) << context.error().message();
      auto& session = side == TlsSide::kClient ? client : server;
      session = (*context)->start(side, sockets[size_t(side)]);
    }
  }
  /// Sends `bytes` of `from` to `to`, both taking turns; returns what arrived.
  static std::vector<char> exchange(TlsSession& from, TlsSession& to, const std::vector<char>& bytes) {
    std::vector<char> arrived(bytes.size());
    size_t sent = 0, received = 0;
    for (int turn = 0; turn < 100000 && received < bytes.size(); ++turn) {
      error_code error;
      const std::array<asio::const_buffer, 1> rest{asio::buffer(bytes.data() + sent, bytes.size() - sent)};
      sent += from.write_some(rest, error);
      EXPECT_TRUE(!error || would_block(error)) << error.message();
      received += to.read_some(asio::buffer(arrived.data() + received, bytes.size() - received), error);
      EXPECT_TRUE(!error || would_block(error)) << error.message() << to.failure_text();
    }
    EXPECT_EQ(received, bytes.size());
    return arrived;
  }
  static std::vector<char> pattern(size_t bytes) {
    std::vector<char> pattern(bytes);
    for (size_t i = 0; i < bytes; ++i) pattern[i] = char(i * 7 + i / 251);
    return pattern;
  }
  /// What lies in the socket of the server, unread.
  size_t bytes_on_the_way() const {
    std::vector<char> bytes(1 << 20);
    const ssize_t count = ::recv(sockets[1], bytes.data(), bytes.size(), MSG_PEEK);
    return count < 0 ? 0 : size_t(count);
  }
};

TEST_F(TlsSessions, CarryAnythingBothWays) {
  start();
  for (const size_t bytes : {size_t(1), size_t(16384), size_t(16385), size_t(3'000'000)}) {
    EXPECT_EQ(exchange(*client, *server, pattern(bytes)), pattern(bytes));
    EXPECT_EQ(exchange(*server, *client, pattern(bytes)), pattern(bytes));
  }
}

TEST_F(TlsSessions, GatherSmallPartsInOneRecord) {
  start();
  exchange(*client, *server, pattern(1));
  const std::vector<char> part = pattern(100);
  const std::array<asio::const_buffer, 4> parts{asio::buffer(part), asio::buffer(part.data(), 0), asio::buffer(part),
                                                asio::buffer(part)};
  error_code error;
  EXPECT_EQ(client->write_some(parts, error), 300u);
  EXPECT_EQ(bytes_on_the_way(), 300u + 22u);  // The head has 5 bytes, the type 1, the tag 16.
  std::vector<char> all(400);
  EXPECT_EQ(server->read_some(asio::buffer(all), error), 300u);
  EXPECT_EQ(std::memcmp(all.data() + 200, part.data(), 100), 0);
}

TEST_F(TlsSessions, ChangeTheirKeysInTime) {
  start({.records_per_key = 3});
  exchange(*client, *server, pattern(1));  // The first record.
  const std::vector<char> small = pattern(10);
  const std::array<asio::const_buffer, 1> parts{asio::buffer(small)};
  error_code error;
  for (int record = 2; record <= 9; ++record) {
    client->write_some(parts, error);
    const bool fresh_key = record == 4 || record == 7;
    EXPECT_EQ(bytes_on_the_way(), (fresh_key ? 5u + 22u : 0u) + 10u + 22u) << record;  // A KeyUpdate has 5 bytes.
    std::vector<char> arrived(10);
    EXPECT_EQ(server->read_some(asio::buffer(arrived), error), 10u) << error.message() << server->failure_text();
    EXPECT_EQ(arrived, small);
  }
  EXPECT_EQ(exchange(*server, *client, pattern(1'000'000)), pattern(1'000'000));
}

TEST_F(TlsSessions, TakeNoMoreThanTheyCanHold) {
  start();
  exchange(*client, *server, pattern(1));
  const std::vector<char> large = pattern(64 << 20);
  const std::array<asio::const_buffer, 1> parts{asio::buffer(large)};
  error_code error;
  size_t taken = 0;
  while (!error) taken += client->write_some(parts, error);
  EXPECT_TRUE(would_block(error));
  EXPECT_TRUE(client->unsent());
  EXPECT_LT(taken, size_t(4) << 20);  // The socket's buffers took it, and 128 KiB.
}

TEST_F(TlsSessions, NoticeAnEndWithoutAGoodbye) {
  start();
  exchange(*client, *server, pattern(1));
  ::shutdown(sockets[0], SHUT_WR);
  char byte = 0;
  error_code error;
  EXPECT_EQ(server->read_some(asio::buffer(&byte, 1), error), 0u);
  EXPECT_EQ(error, asio::error::eof);
  EXPECT_EQ(server->failure(), TlsFailure::kNone);
}

TEST_F(TlsSessions, WritingToOneWhoIsGoneIsAnErrorAndNoSignal) {
  start();
  exchange(*client, *server, pattern(1));
  ::shutdown(sockets[1], SHUT_RD);
  ::shutdown(sockets[0], SHUT_WR);
  const std::vector<char> some = pattern(10);
  const std::array<asio::const_buffer, 1> parts{asio::buffer(some)};
  error_code error;
  client->write_some(parts, error);
  EXPECT_EQ(error, asio::error::broken_pipe);
}

}  // namespace
}  // namespace shoal::transport::tcp
