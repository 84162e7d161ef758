// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The handshake with one peer that has connected, on the side of the listener.
#include "link.h"
#include "stream/acceptance.h"

namespace shoal::transport::tcp {

/// Occupies a socket, a timer and 16 bytes. Once the peer has sent its first TLS message, OpenSSL's session takes about
/// 100 KiB of memory more.
class Handshake final : public stream::Handshake {
 public:
  /// `tls` is the listener's context; null if it accepts peers without TLS.
  Handshake(std::weak_ptr<stream::Acceptance> owner, stream::Core& core, Socket socket, std::shared_ptr<TlsContext> tls);

 private:
  void begin() override;
  void timed_out() override;
  void close_socket() override { stream_->close(); }

  void wait_readable(void (Handshake::*then)());
  void read_first_byte();
  void read_preamble();
  void report_tls_failure();
  void answer_preamble(const Preamble& theirs);
  std::shared_ptr<void> admit(stream::Acceptance& owner, const Preamble& theirs, Preamble& answer);
  void refuse_stranger();
  void refuse_tls();
  void close_after_answer();
  void drain();
  Endpoint peer() const { return {"tcp", to_text(address_)}; }
  /// Logs why the peer was refused (`what`), and what the user should do (`remedy`; empty if `what` says it too).
  void warn(const std::string& what, const std::string& remedy = {});

  const std::shared_ptr<TlsContext> tls_;
  std::optional<Stream> stream_;  // Replaced by a TLS stream if the peer's first byte begins a TLS handshake.
  SocketAddress address_;
  PreambleBytes bytes_;
  size_t received_bytes_ = 0;
  bool answered_ = false;  // True once the peer was told that it is refused.
};

}  // namespace shoal::transport::tcp
