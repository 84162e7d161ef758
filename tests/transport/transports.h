// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The fixture of the conformance suite: a listener at one task, ready for the other to connect.
#include <atomic>
#include <memory>
#include <utility>

#include "two_tasks.h"

namespace shoal::transport {
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Done = Result<void>;
using Link = std::unique_ptr<Connection>;

inline constexpr uint64_t kBig = uint64_t(1) << 30;

/// Receives until the peer has left; anything but Unavailable is an error.
inline Task<Done> wait_for_peer_to_leave(Connection& link, Environment& env) {
  while (true) {
    Result<Message> received = co_await link.receive(env.after(seconds(20)));
    if (received) continue;
    if (received.error().kind() == ErrorKind::kUnavailable) co_return Done();
    co_return std::move(received).error();
  }
}

inline Task<Done> send_one(Connection& link, Message message, Deadline deadline) {
  co_return co_await link.send(std::move(message), deadline);
}

class Transports : public testing::TestWithParam<Setting> {
 protected:
  TwoTasks tasks{GetParam()};
  Environment& server = tasks.server();
  Environment& client = tasks.client();
  LinkOptions options;
  std::unique_ptr<Listener> listener;
  Endpoint address;

  void SetUp() override {
    options.credential = tasks.credential();
    listen(any_address(GetParam().scheme));
  }
  void listen(Endpoint at) {
    auto listening = tasks.transport(server).listen(std::move(at), options);
    ASSERT_TRUE(listening) << listening.error().message();
    listener = std::move(*listening);
    address = listener->endpoint();
  }
  void listen_again() {
    listener.reset();
    listen(any_address(GetParam().scheme));
  }
  Task<Result<Link>> accept() { return listener->accept(tasks.soon(server)); }
  Task<Result<Link>> connect() { return tasks.transport(client).connect(address, options, tasks.soon(client)); }
};

}  // namespace shoal::transport
