/// tcp: between processes and machines, by Asio on the strand of the task.
#include "attempt.h"
#include "listener.h"
#include "shoal/base/event_loop.h"
#include "tcp_connection.h"

namespace shoal::transport {
namespace tcp {
namespace {

class TcpListener final : public Listener {
 public:
  explicit TcpListener(std::shared_ptr<Acceptance> acceptance) : acceptance_(std::move(acceptance)) {}
  ~TcpListener() override { acceptance_->close(); }
  const Endpoint& endpoint() const override { return acceptance_->endpoint(); }
  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) override { return acceptance_->accept(deadline); }
  void close() override { acceptance_->close(); }

 private:
  std::shared_ptr<Acceptance> acceptance_;
};

// An attempt whose coroutine is destroyed while it waits must let go of its socket.
struct CancelOnExit {
  std::shared_ptr<Attempt> attempt;
  explicit CancelOnExit(std::shared_ptr<Attempt> what) : attempt(std::move(what)) {}
  ~CancelOnExit() { attempt->cancel(); }
  CancelOnExit(const CancelOnExit&) = delete;
  CancelOnExit& operator=(const CancelOnExit&) = delete;
};

Task<Result<std::unique_ptr<Connection>>> connect_by(std::shared_ptr<Core> core, Endpoint to, LinkOptions options,
                                                     Deadline deadline) {
  CancelOnExit guard(std::make_shared<Attempt>(core, to, std::move(options)));
  Attempt& attempt = *guard.attempt;
  attempt.start();
  while (!attempt.done()) {
    auto wait = attempt.waits()->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end == WaitEnd::kCancelled) co_return cancelled();
    if (end == WaitEnd::kDeadline && !attempt.done())
      co_return deadline_exceeded(to_string(to) + ": not connected in time");
  }
  Result<std::shared_ptr<Link>> link = attempt.take();
  if (!link) co_return std::move(link).error();
  co_return make_tcp_connection(std::move(*link));
}

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(Environment& env, asio::io_context& io) : core_(std::make_shared<Core>(env, io)) {}
  ~TcpTransport() override { core_->shut_down(); }

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
    Result<std::shared_ptr<TlsContext>> tls = core_->tls(options.token);
    if (!tls) return std::move(tls).error().with_context(to_string(at));
    auto acceptance = std::make_shared<Acceptance>(core_, std::move(at), std::move(options), std::move(*tls));
    SHOAL_TRY_VOID(acceptance->open(addresses));
    return std::make_unique<TcpListener>(std::move(acceptance));
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return connect_by(core_, std::move(to), std::move(options), deadline);
  }

  TransportStats stats() const override {
    const Counters& counters = core_->counters;
    return {counters.messages_sent, counters.messages_received, counters.bytes_sent, counters.bytes_received,
            counters.bytes_copied};
  }

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
