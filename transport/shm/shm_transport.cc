/// shm: between processes of one user on one machine, and tasks of one process, through shared memory.
#include "attempt.h"
#include "listener.h"
#include "shm_connection.h"
#include "shoal/base/event_loop.h"

namespace shoal::transport {
namespace shm {
namespace {

class ShmListener final : public Listener {
 public:
  explicit ShmListener(std::shared_ptr<Acceptance> acceptance) : acceptance_(std::move(acceptance)) {}
  ~ShmListener() override { acceptance_->close(); }
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

Error no_memory() { return failed_precondition("shm: the buffers of this environment do not lie in shared memory"); }

Task<Result<std::unique_ptr<Connection>>> connect_by(std::shared_ptr<Core> core, Endpoint to, LinkOptions options,
                                                     Deadline deadline) {
  if (!core->memory) co_return no_memory();
  CancelOnExit guard(std::make_shared<Attempt>(core, to, options));
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
  co_return make_shm_connection(std::move(*link));
}

class ShmTransport final : public Transport {
 public:
  ShmTransport(Environment& env, asio::io_context& io) : core_(std::make_shared<Core>(env, io)) {}
  ~ShmTransport() override { core_->shut_down(); }

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    if (!core_->memory) return no_memory();
    auto acceptance = std::make_shared<Acceptance>(core_, std::move(at), options);
    SHOAL_TRY_VOID(acceptance->open());
    return std::make_unique<ShmListener>(std::move(acceptance));
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return connect_by(core_, std::move(to), options, deadline);
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
}  // namespace shm

std::unique_ptr<Transport> make_shm_transport(Environment& env) {
  boost::asio::io_context* const io = event_loop(env);
  SHOAL_CHECK(io);  // virtual environments have no sockets: shm does not belong in their table
  return std::make_unique<shm::ShmTransport>(env, *io);
}

}  // namespace shoal::transport
