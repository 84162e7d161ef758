/// shm: between processes of one user on one machine, and tasks of one process, through shared memory.
#include "attempt.h"
#include "listener.h"
#include "shoal/base/event_loop.h"
#include "shoal/transport/handles.h"

namespace shoal::transport {
namespace shm {
namespace {

class ShmTransport final : public Transport {
 public:
  ShmTransport(Environment& env, asio::io_context& io) : core_(std::make_shared<Core>(env, io)) {}
  ~ShmTransport() override { core_->shut_down(); }
  Reach reach() const override { return Reach::kMachine; }
  bool shares_memory() const override { return true; }

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    SHOAL_TRY_VOID(core_->check_memory());
    auto acceptance = std::make_shared<Acceptance>(core_, std::move(at), options);
    SHOAL_TRY_VOID(acceptance->open());
    return std::make_unique<AcceptanceListener<Acceptance>>(std::move(acceptance));
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return connect_by(std::make_shared<Attempt>(core_, to, options), to, deadline);
  }

  TransportStats stats() const override { return core_->counters.stats(); }

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
