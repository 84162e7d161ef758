// SPDX-License-Identifier: Apache-2.0
#include "sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shoal/base/check.h"

namespace shoal::bench {

SocketPair::SocketPair() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  SHOAL_CHECK(::bind(listener, generic, size) == 0 && ::listen(listener, 1) == 0);
  SHOAL_CHECK(::getsockname(listener, generic, &size) == 0);
  ends_[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SHOAL_CHECK(::connect(ends_[0], generic, size) == 0);
  ends_[1] = ::accept(listener, nullptr, nullptr);
  SHOAL_CHECK(ends_[1] >= 0);
  ::close(listener);
  const int on = 1;
  for (const int end : ends_) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

SocketPair::~SocketPair() {
  for (const int end : ends_) ::close(end);
}

void SocketPair::write(int end, const std::byte* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::send(ends_[end], data, bytes, MSG_NOSIGNAL);
    SHOAL_CHECK(written > 0);
    data += written, bytes -= size_t(written);
  }
}

void SocketPair::read(int end, std::byte* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = ::recv(ends_[end], data, bytes, 0);
    SHOAL_CHECK(count > 0);
    data += count, bytes -= size_t(count);
  }
}

}  // namespace shoal::bench
