// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The base class of the transports tcp and shm. It implements connect() with their `Attempt` classes.
#include "stream/acceptance.h"
#include "stream/attempt.h"

namespace shoal::transport::stream {

/// The derived transport chooses its own `Core` and `Attempt`, implements listen(), and tells the transport's properties.
template <class Core, class Attempt>
class StreamTransport : public Transport {
 public:
  explicit StreamTransport(Environment& env) : core_(std::make_shared<Core>(env)) {}
  ~StreamTransport() override { core_->shut_down(); }

  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return connect_by(std::make_shared<Attempt>(core_, to, std::move(options)), to, deadline);
  }
  TransportStats stats() const override { return core_->counters.stats(); }

 protected:
  const std::shared_ptr<Core> core_;
};

}  // namespace shoal::transport::stream
