// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a stranger sends to an HTTP endpoint of this machine, byte by byte, and what comes back.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

namespace shoal::testing {

class RawHttp {
 public:
  explicit RawHttp(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~RawHttp() { ::close(socket_); }
  RawHttp(const RawHttp&) = delete;
  RawHttp& operator=(const RawHttp&) = delete;

  bool connected() const { return connected_; }
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(size_t(sent));
    }
  }
  /// All that comes until the peer ends the connection, or 20 s have passed.
  std::string read_all() {
    std::string all;
    while (read_more(all)) {
    }
    return all;
  }
  /// The next answer: its head, and as many bytes as it announces.
  std::string read_answer() {
    for (;;) {
      const size_t head = ahead_.find("\r\n\r\n");
      const size_t at = ahead_.find("Content-Length: ");
      if (head != std::string::npos && at < head) {
        const size_t bytes = head + 4 + std::stoul(ahead_.substr(at + 16));
        if (ahead_.size() >= bytes) {
          std::string answer = ahead_.substr(0, bytes);
          ahead_.erase(0, bytes);
          return answer;
        }
      }
      if (!read_more(ahead_)) return ahead_;
    }
  }
  /// True once the peer has ended the connection.
  bool is_ended() {
    std::string more;
    return !read_more(more);
  }

 private:
  bool read_more(std::string& into) {
    constexpr int kPatienceMs = 20'000;
    pollfd waits{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&waits, 1, kPatienceMs) != 1) return false;
    char bytes[4096];
    const ssize_t read = ::recv(socket_, bytes, sizeof bytes, 0);
    if (read <= 0) return false;
    into.append(bytes, size_t(read));
    return true;
  }

  int socket_;
  bool connected_ = false;
  std::string ahead_;
};

}  // namespace shoal::testing
