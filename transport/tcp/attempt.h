// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One attempt to connect: resolves the name, connects, exchanges preambles.
#include "link.h"
#include "stream/attempt.h"

namespace shoal::transport::tcp {

class Attempt final : public stream::Attempt {
 public:
  Attempt(std::shared_ptr<Core> core, Endpoint to, LinkOptions options);

 private:
  void begin() override;
  void close_sockets() override;

  void resolved(std::vector<SocketAddress> addresses);
  void try_next();
  void start_handshake();
  void continue_handshake();
  bool exchange_preambles(error_code& error);
  void read_answer();
  Error refused(const error_code& error) const;

  Core& tcp_core_;  // The base class keeps this object alive.
  std::vector<SocketAddress> addresses_;
  size_t next_ = 0;
  std::string failures_;
  std::optional<Resolver> resolver_;
  std::shared_ptr<TlsContext> tls_;
  std::optional<Socket> socket_;
  std::optional<Stream> stream_;  // Reads and writes the socket, once it is connected.
  Preamble ours_;
  bool sent_ = false;          // True once `ours_` is sent.
  size_t received_bytes_ = 0;  // How many bytes of the peer's preamble have arrived.
  PreambleBytes bytes_;
};

}  // namespace shoal::transport::tcp
