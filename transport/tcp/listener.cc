// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include "handshake.h"
#include "shoal/base/exhaustion.h"

namespace shoal::transport::tcp {

Acceptance::Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options, std::shared_ptr<TlsContext> tls,
                       Acceptor acceptor)
    : stream::Acceptance(std::move(core), std::move(endpoint), std::move(options)),
      tls_(std::move(tls)),
      acceptor_(std::move(acceptor)) {}

void Acceptance::accept_next() {
  acceptor_->async_accept([self = stream::self_of(this)](const error_code& error, Socket socket) {
    if (!self->acceptor_ || !self->acceptor_->is_open()) return;
    if (!error) {
      self->begin_handshake(
          std::make_shared<Handshake>(self->weak_from_this(), *self->core_, std::move(socket), self->tls_));
    } else if (error != asio::error::connection_aborted) {
      return self->pause_accepting(system_error_text(error.value()));
    }
    self->accept_next();
  });
}

Result<Acceptor> listen_on(asio::io_context& io, const std::vector<SocketAddress>& addresses, Endpoint& endpoint) {
  error_code error;
  Acceptor acceptor(io);
  for (const SocketAddress& address : addresses) {
    acceptor = Acceptor(io);
    acceptor.open(address.protocol(), error);
    // With this option, old closed connections do not block the port.
    if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
    if (!error && address.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
    if (!error) acceptor.bind(address, error);
    if (!error) acceptor.listen(1024, error);
    if (!error) break;
  }
  if (error) {
    const bool taken = error == asio::error::address_in_use;
    return unavailable(to_string(endpoint) + ": cannot listen there: " + system_error_text(error.value()) +
                       (taken ? "; another process uses this port: choose another, or end that process" : ""));
  }
  // Keeps the host as the user wrote it, with the actual port.
  endpoint.address =
      endpoint.address.substr(0, endpoint.address.rfind(':') + 1) + std::to_string(acceptor.local_endpoint(error).port());
  return acceptor;
}

}  // namespace shoal::transport::tcp
