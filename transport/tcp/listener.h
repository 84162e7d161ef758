// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The listener of tcp.
#include "link.h"
#include "stream/acceptance.h"

namespace shoal::transport::tcp {

class Acceptance final : public stream::Acceptance {
 public:
  /// `acceptor` has to listen already. With `tls`, which belongs to the options' credential, all peers have to use TLS.
  Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options, std::shared_ptr<TlsContext> tls,
             Acceptor acceptor);

 private:
  void accept_next() override;
  void close_socket() override { acceptor_.reset(); }

  const std::shared_ptr<TlsContext> tls_;
  std::optional<Acceptor> acceptor_;
};

/// Binds to the first of `addresses` that works, and listens. If `endpoint` has port 0, the port that the system chose
/// replaces it. Unavailable, with the address, if none works.
Result<Acceptor> listen_on(asio::io_context& io, const std::vector<SocketAddress>& addresses, Endpoint& endpoint);

}  // namespace shoal::transport::tcp
