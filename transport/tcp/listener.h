// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A listening socket.
#include "link.h"
#include "stream/acceptance.h"

namespace shoal::transport::tcp {

class Acceptance final : public stream::Acceptance {
 public:
  /// `acceptor` listens. With `tls`, which belongs to the options' credential, everybody has to come by TLS.
  Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options, std::shared_ptr<TlsContext> tls,
             Acceptor acceptor);

 private:
  void accept_next() override;
  void close_socket() override { acceptor_.reset(); }

  const std::shared_ptr<TlsContext> tls_;
  std::optional<Acceptor> acceptor_;
};

/// Binds to the first of `addresses` that can be had, and listens; `endpoint` then has the port that the system gave if it
/// was asked for any. Unavailable naming the address if none can be had.
Result<Acceptor> listen_on(asio::io_context& io, const std::vector<SocketAddress>& addresses, Endpoint& endpoint);

}  // namespace shoal::transport::tcp
