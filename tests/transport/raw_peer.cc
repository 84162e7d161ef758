// SPDX-License-Identifier: Apache-2.0
#include "raw_peer.h"

#define XXH_INLINE_ALL
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>

#include "shoal/base/check.h"

namespace shoal::transport {
namespace {

template <class T>
void put(Bytes& bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes.push_back(std::byte(uint64_t(value) >> (8 * i)));
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

Bytes raw_preamble(uint32_t protocol, uint32_t status, uint16_t heartbeat_ms) {
  Bytes bytes{std::byte('S'), std::byte('H'), std::byte('O'), std::byte('A')};
  put(bytes, protocol);
  put(bytes, uint16_t(0));
  put(bytes, heartbeat_ms);
  put(bytes, status);
  return bytes;
}

Bytes raw_frame(const RawFrame& frame) {
  Bytes bytes;
  put(bytes, frame.magic);
  put(bytes, frame.version);
  put(bytes, frame.kind);
  put(bytes, frame.flags);
  put(bytes, frame.length);
  for (uint64_t field : {uint64_t(0), uint64_t(0), uint64_t(0), frame.sequence, uint64_t(0), uint64_t(0)})
    put(bytes, field);
  put(bytes, uint32_t(0));  // The sender.
  put(bytes, uint32_t(0));  // The status, and zeros.
  put(bytes, frame.checksum);
  put(bytes, frame.sealed ? raw_checksum(bytes) : uint64_t(0));
  return bytes;
}

uint64_t raw_checksum(const Bytes& bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

RawPeer::RawPeer(const Endpoint& endpoint) {
  const auto port = uint16_t(std::stoi(endpoint.address.substr(endpoint.address.rfind(':') + 1)));
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  SHOAL_CHECK(socket_ >= 0 && ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

RawPeer::~RawPeer() { ::close(socket_); }

bool RawPeer::send(const Bytes& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += size_t(count);
  }
  return true;
}

Bytes RawPeer::receive(size_t bytes, int timeout_ms) {
  Bytes received(bytes);
  size_t have = 0;
  pollfd readable{socket_, POLLIN, 0};
  while (have < bytes && ::poll(&readable, 1, timeout_ms) == 1) {
    const ssize_t count = ::recv(socket_, received.data() + have, bytes - have, 0);
    if (count <= 0) break;
    have += size_t(count);
  }
  received.resize(have);
  return received;
}

bool RawPeer::ended_within(int timeout_ms) {
  char scratch[65536];
  pollfd readable{socket_, POLLIN, 0};
  while (::poll(&readable, 1, timeout_ms) == 1) {
    if (::recv(socket_, scratch, sizeof scratch, 0) <= 0) return true;
  }
  return false;
}

void RawPeer::reset() {
  const linger at_once{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(socket_);
  socket_ = -1;
}

RawListener::RawListener() {
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(0);
  SHOAL_CHECK(socket_ >= 0 && ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
              ::listen(socket_, 16) == 0);
}

RawListener::~RawListener() { ::close(socket_); }

Endpoint RawListener::endpoint() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  SHOAL_CHECK(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  return {"tcp", "127.0.0.1:" + std::to_string(ntohs(address.sin_port))};
}

void RawListener::answer_one(const Bytes& answer) {
  const int peer = ::accept(socket_, nullptr, nullptr);
  SHOAL_CHECK(peer >= 0);
  (void)!::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
  char scratch[4096];
  pollfd readable{peer, POLLIN, 0};
  while (::poll(&readable, 1, 10000) == 1 && ::recv(peer, scratch, sizeof scratch, 0) > 0) {
  }
  ::close(peer);
}

}  // namespace shoal::transport
