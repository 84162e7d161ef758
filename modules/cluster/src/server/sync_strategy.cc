// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "server/strategy.h"
#include "shoal/base/check.h"

namespace shoal::cluster {
namespace {

class SyncStrategy final : public UpdateStrategy {
 public:
  SyncStrategy(int replicas_to_aggregate, int trainers)
      : backups_(replicas_to_aggregate < trainers),
        aggregated_(replicas_to_aggregate),
        share_(std::max(1, replicas_to_aggregate / trainers)) {}

  bool takes(const WholePush& push, const Progress& progress) const override {
    return push.base_version == progress.version && !progress.stopping;
  }

  /// Takes as many pushes as the next update needs, in the order of their arrival. Then sorts these by trainer and number,
  /// so that their sum does not depend on which trainer was faster.
  std::vector<size_t> next(std::span<const WholePush> held, const Progress& progress) const override {
    const size_t wanted = needed(progress);
    if (wanted == 0 || held.size() < wanted) return {};
    std::vector<size_t> contributors(wanted);
    for (size_t i = 0; i < wanted; ++i) contributors[i] = i;
    std::ranges::sort(contributors, {}, [&held](size_t i) { return std::tie(held[i].id.trainer, held[i].id.number); });
    return contributors;
  }

  /// Returns whether `trainer` may make another push before the next update. Each trainer may make its share of the pushes
  /// that an update needs. If trainers are lost, those that ask first may make the missing pushes in their place.
  bool grants(size_t trainer, const Progress& progress) const override {
    const Participant& asker = progress.trainers[trainer];
    if (!asker.active || progress.stopping) return false;
    if (asker.granted + 1 < share_) return true;
    size_t expected = 0;
    for (const Participant& other : progress.trainers) {
      const bool comes = other.active && !other.lost;
      expected += size_t(comes ? std::max(share_, 1 + other.granted) : other.whole);
    }
    return expected < needed(progress);
  }

  bool paces() const override { return true; }

 private:
  /// The number of pushes that the next update needs. A trainer that has become inactive has to contribute only the pushes
  /// that it has already made for this update.
  size_t needed(const Progress& progress) const {
    size_t active = 0, left = 0;
    for (const Participant& trainer : progress.trainers) {
      active += trainer.active;
      left += trainer.active ? 0 : size_t(trainer.whole);
    }
    return backups_ ? std::min(size_t(aggregated_), active + left) : active * size_t(share_) + left;
  }

  const bool backups_;
  const int aggregated_;  // The number of gradients that make one update, over all trainers.
  const int share_;       // The number of gradients that each trainer contributes to one update.
};

}  // namespace

std::unique_ptr<UpdateStrategy> sync_strategy(int replicas_to_aggregate, int trainers) {
  SHOAL_CHECK(trainers > 0 && replicas_to_aggregate > 0);
  SHOAL_CHECK(replicas_to_aggregate <= trainers || replicas_to_aggregate % trainers == 0);
  return std::make_unique<SyncStrategy>(replicas_to_aggregate, trainers);
}

}  // namespace shoal::cluster
