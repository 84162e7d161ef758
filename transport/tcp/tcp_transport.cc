/// tcp: between processes and machines, by Asio on the strand of the task.
#include "attempt.h"
#include "listener.h"
#include "shoal/base/event_loop.h"
#include "shoal/transport/handles.h"

namespace shoal::transport {
namespace tcp {
namespace {

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(Environment& env, asio::io_context& io) : core_(std::make_shared<Core>(env, io)) {}
  ~TcpTransport() override { core_->shut_down(); }
  Reach reach() const override { return Reach::kNetwork; }
  bool shares_memory() const override { return false; }

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    SHOAL_TRY(const HostPort where, parse_host_port(at));
    std::vector<SocketAddress> addresses = numeric_addresses(where);
    if (addresses.empty()) {
      // Blocks: a task resolves its own name once, before it does anything else.
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
    auto acceptance = std::make_shared<Acceptance>(core_, std::move(at), std::move(options), std::move(*tls));
    SHOAL_TRY_VOID(acceptance->open(addresses));
    return std::make_unique<AcceptanceListener<Acceptance>>(std::move(acceptance));
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return connect_by(std::make_shared<Attempt>(core_, to, std::move(options)), to, deadline);
  }

  TransportStats stats() const override { return core_->counters.stats(); }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace
}  // namespace tcp

std::unique_ptr<Transport> make_tcp_transport(Environment& env) {
  boost::asio::io_context* const io = event_loop(env);
  SHOAL_CHECK(io);  // virtual environments have no sockets: tcp does not belong in their table
  return std::make_unique<tcp::TcpTransport>(env, *io);
}

}  // namespace shoal::transport
