// SPDX-License-Identifier: Apache-2.0
/// tcp: connects processes and machines, by Asio on the strand of the task.
#include "attempt.h"
#include "listener.h"
#include "stream/transport.h"

namespace shoal::transport {
namespace tcp {
namespace {

class TcpTransport final : public stream::StreamTransport<Core, Attempt> {
 public:
  using StreamTransport::StreamTransport;
  Reach reach() const override { return Reach::kNetwork; }
  bool shares_memory() const override { return false; }

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    SHOAL_TRY(const HostPort where, parse_host_port(at));
    std::vector<SocketAddress> addresses = numeric_addresses(where);
    if (addresses.empty()) {
      // resolve() blocks. That is acceptable here: a task resolves its own host name once, before anything else.
      error_code error;
      Resolver resolver(core_->io);
      for (const auto& entry : resolver.resolve(where.host, std::to_string(where.port), error))
        addresses.push_back(entry.endpoint());
      if (error || addresses.empty())
        return not_found(to_string(at) + ": the host name does not resolve: " + error.message());
    }
    SHOAL_TRY_VOID(check_secure(core_->env.log(), at, addresses, options));
    Result<std::shared_ptr<TlsContext>> tls = core_->tls(options.credential);
    if (!tls) return std::move(tls).error().with_context(to_string(at));
    SHOAL_TRY(Acceptor acceptor, listen_on(core_->io, addresses, at));
    auto acceptance =
        std::make_shared<Acceptance>(core_, std::move(at), std::move(options), std::move(*tls), std::move(acceptor));
    return stream::start_listening(std::move(acceptance));
  }
};

}  // namespace
}  // namespace tcp

std::unique_ptr<Transport> make_tcp_transport(Environment& env) { return std::make_unique<tcp::TcpTransport>(env); }

}  // namespace shoal::transport
