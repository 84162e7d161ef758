// SPDX-License-Identifier: Apache-2.0
#include "elsewhere.h"

#include "shoal/transport/transport.h"

namespace shoal::testing {
namespace {

using namespace transport;  // NOLINT: most names in this file belong to transport.

class ListensElsewhere final : public Transport {
 public:
  ListensElsewhere(std::string task, std::shared_ptr<Transport> inner) : task_(std::move(task)), inner_(std::move(inner)) {}
  Reach reach() const override { return inner_->reach(); }
  bool shares_memory() const override { return inner_->shares_memory(); }
  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    at.address = task_ + "-" + at.address;
    return inner_->listen(std::move(at), std::move(options));
  }
  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return inner_->connect(std::move(to), std::move(options), deadline);
  }
  TransportStats stats() const override { return inner_->stats(); }

 private:
  const std::string task_;
  const std::shared_ptr<Transport> inner_;
};

}  // namespace

TransportFactory listens_elsewhere(std::string task, TransportFactory network) {
  for (char& c : task) c = c == ' ' ? '-' : c;
  return [task = std::move(task), network = std::move(network)](Environment& env) -> std::shared_ptr<Transport> {
    return std::make_shared<ListensElsewhere>(task, network(env));
  };
}

}  // namespace shoal::testing
