#pragma once
/// The handshake with one peer that has connected, on the side of the listener.
#include "listener.h"

namespace shoal::transport::tcp {

/// Of the strand. Holds a socket, a timer and 16 bytes, and once the peer has begun a TLS handshake what OpenSSL needs for
/// that, some 100 KiB. Ends in time, whatever the peer does.
class Handshake final : public std::enable_shared_from_this<Handshake> {
 public:
  Handshake(std::weak_ptr<Acceptance> owner, Core& core, Socket socket);
  void start(Duration timeout);
  /// The handlers end with an error.
  void drop();

 private:
  void wait_readable(void (Handshake::*then)());
  void read_first_byte();
  void read_preamble();
  void report_tls_failure();
  void answer_preamble(const Preamble& theirs);
  std::shared_ptr<void> admit(Acceptance& owner, const Preamble& theirs, Preamble& answer);
  void refuse_stranger();
  void time_out();
  void refuse_tls();
  void close_after_answer();
  void drain();
  void end(std::shared_ptr<Link> link);
  Endpoint peer() const { return {"tcp", to_text(address_)}; }
  /// `remedy`: empty if `what` ends with it.
  void warn(const std::string& what, const std::string& remedy = {});

  std::weak_ptr<Acceptance> owner_;
  std::optional<Stream> stream_;  // until we know better, as the bytes are
  SocketAddress address_;
  asio::steady_timer timer_;
  PreambleBytes bytes_;
  size_t received_bytes_ = 0;
  bool answered_ = false;  // that it does not get in
};

}  // namespace shoal::transport::tcp
