// SPDX-License-Identifier: Apache-2.0
#include "server/strategy.h"

namespace shoal::cluster {
namespace {

class AsyncStrategy final : public UpdateStrategy {
 public:
  bool takes(const WholePush&, const Progress&) const override { return true; }
  std::vector<size_t> next(std::span<const WholePush> held, const Progress&) const override {
    return held.empty() ? std::vector<size_t>() : std::vector<size_t>{0};
  }
  bool grants(size_t, const Progress&) const override { return false; }  // A push is answered by its commit.
  bool paces() const override { return false; }
};

}  // namespace

std::unique_ptr<UpdateStrategy> async_strategy() { return std::make_unique<AsyncStrategy>(); }

}  // namespace shoal::cluster
