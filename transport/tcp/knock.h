#pragma once
/// One peer that has connected and not yet introduced itself.
#include "listener.h"

namespace shoal::transport::tcp {

/// Of the strand. Holds a socket, a timer and 16 bytes, and once the peer has begun a TLS handshake what OpenSSL needs for
/// that, some 100 KiB. Ends in time, whatever the peer does.
class Knock final : public std::enable_shared_from_this<Knock> {
 public:
  Knock(std::weak_ptr<Acceptance> owner, Core& core, Socket socket);
  void start(Duration timeout);
  /// The handlers end with an error.
  void drop();

 private:
  void wait_readable(void (Knock::*then)());
  void look();
  void listen_on();
  void refused_by_tls();
  void introduce(const Preamble& theirs);
  std::shared_ptr<void> judge(Acceptance& owner, const Preamble& theirs, Preamble& answer);
  void turn_away();
  void give_up();
  void refuse_tls();
  void say_goodbye();
  void wait_for_end();
  void end(std::shared_ptr<Link> link);
  Endpoint peer() const { return {"tcp", to_text(address_)}; }
  /// `remedy`: empty if `what` ends with it.
  void warn(const std::string& what, const std::string& remedy = {});

  std::weak_ptr<Acceptance> owner_;
  std::optional<Stream> stream_;  // until we know better, as the bytes are
  SocketAddress address_;
  asio::steady_timer timer_;
  PreambleBytes bytes_;
  size_t heard_bytes_ = 0;
  bool answered_ = false;  // that it does not get in
};

}  // namespace shoal::transport::tcp
