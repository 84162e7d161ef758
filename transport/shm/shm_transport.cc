// SPDX-License-Identifier: Apache-2.0
/// shm: connects processes of one user on one machine, and tasks of one process, through shared memory.
#include "attempt.h"
#include "listener.h"
#include "stream/transport.h"

namespace shoal::transport {
namespace shm {
namespace {

class ShmTransport final : public stream::StreamTransport<Core, Attempt> {
 public:
  using StreamTransport::StreamTransport;
  Reach reach() const override { return Reach::kMachine; }
  bool shares_memory() const override { return true; }

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    SHOAL_TRY_VOID(core_->check_memory());
    SHOAL_TRY(Watched socket, listen_on(*core_, at));
    auto acceptance = std::make_shared<Acceptance>(core_, std::move(at), std::move(options), std::move(socket));
    return stream::start_listening(std::move(acceptance));
  }
};

}  // namespace
}  // namespace shm

std::unique_ptr<Transport> make_shm_transport(Environment& env) { return std::make_unique<shm::ShmTransport>(env); }

}  // namespace shoal::transport
