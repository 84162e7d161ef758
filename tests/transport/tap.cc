// SPDX-License-Identifier: Apache-2.0
#include "tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "shoal/base/check.h"

namespace shoal::transport {
namespace {

sockaddr_in port_of_loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

constexpr char kHold = 'h', kGoOn = 'g', kReset = 'r';

}  // namespace

Tap::Tap(const Endpoint& to, std::optional<Change> change) : to_(to), change_(change) {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in any = port_of_loopback(0);
  SHOAL_CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 && ::listen(listener_, 1) == 0);
  SHOAL_CHECK(::pipe(orders_) == 0);
  thread_ = std::thread([this] { pass_on(); });
}

Tap::~Tap() {
  ::close(orders_[1]);
  if (thread_.joinable()) thread_.join();
  ::close(orders_[0]);
  ::close(listener_);
}

Endpoint Tap::endpoint() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  SHOAL_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  return {"tcp", "127.0.0.1:" + std::to_string(ntohs(address.sin_port))};
}

void Tap::tell(char order) { SHOAL_CHECK(::write(orders_[1], &order, 1) == 1); }
void Tap::hold(bool held) { tell(held ? kHold : kGoOn); }
void Tap::reset() { tell(kReset); }

const Tap::Recording& Tap::recording() {
  if (thread_.joinable()) thread_.join();
  return recording_;
}

void Tap::pass_on() {
  pollfd ready[2] = {{listener_, POLLIN, 0}, {orders_[0], POLLIN, 0}};
  ::poll(ready, 2, -1);
  if (ready[1].revents != 0) return;
  const int client = ::accept(listener_, nullptr, nullptr);
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = port_of_loopback(uint16_t(std::stoi(to_.address.substr(to_.address.rfind(':') + 1))));
  SHOAL_CHECK(client >= 0 && ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  pass_between(client, server);
  ::close(client);
  ::close(server);
}

void Tap::pass_between(int client, int server) {
  int open[2] = {client, server};  // An end is -1 once it has come to its end.
  bool held = false;
  while (open[0] != -1 || open[1] != -1) {
    pollfd ends[3] = {{held ? -1 : open[0], POLLIN, 0}, {held ? -1 : open[1], POLLIN, 0}, {orders_[0], POLLIN, 0}};
    ::poll(ends, 3, -1);
    if (ends[2].revents != 0) {
      char order = 0;
      if (::read(orders_[0], &order, 1) != 1) return;
      held = order == kHold;
      const linger at_once{1, 0};
      for (const int end : {client, server}) {
        if (order == kReset) ::setsockopt(end, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      }
      if (order == kReset) return;
      continue;
    }
    for (const int side : {0, 1}) {
      if (ends[side].revents != 0 && !pass(open[side], side == 0 ? server : client, side == 0)) open[side] = -1;
    }
  }
}

bool Tap::pass(int from, int to, bool of_client) {
  std::array<char, 16384> bytes;
  const ssize_t count = ::recv(from, bytes.data(), bytes.size(), 0);
  if (count <= 0) {
    ::shutdown(to, SHUT_WR);
    return false;
  }
  Bytes& all = of_client ? recording_.of_client : recording_.of_server;
  if (change_ && change_->of_client == of_client && change_->at >= all.size() && change_->at < all.size() + size_t(count))
    bytes[change_->at - all.size()] ^= 1;
  const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
  all.insert(all.end(), first, first + count);
  for (ssize_t sent = 0; sent < count;) {
    const ssize_t some = ::send(to, bytes.data() + sent, size_t(count - sent), MSG_NOSIGNAL);
    if (some <= 0) return false;
    sent += some;
  }
  return true;
}

}  // namespace shoal::transport
