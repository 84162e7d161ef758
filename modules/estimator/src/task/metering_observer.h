// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counts the updates that an observer sees, for the endpoint for monitoring systems.
#include <memory>
#include <utility>

#include "shoal/cluster/update_observer.h"
#include "shoal/monitor/task_meters.h"

namespace shoal {

class MeteringObserver final : public cluster::UpdateObserver {
 public:
  /// `other` receives the same calls; may be null.
  MeteringObserver(std::shared_ptr<monitor::TaskMeters> meters, std::shared_ptr<cluster::UpdateObserver> other)
      : meters_(std::move(meters)), other_(std::move(other)) {}

  void activated(int shard, uint64_t server, uint64_t epoch, uint64_t global_step) override {
    meters_->global_step.set(double(global_step));
    if (other_) other_->activated(shard, server, epoch, global_step);
  }
  void applied(const cluster::ObservedUpdate& update) override {
    meters_->applied(update.global_step, update.staleness);
    if (other_) other_->applied(update);
  }
  void holds(int shard, uint64_t bytes, uint64_t most) override {
    if (other_) other_->holds(shard, bytes, most);
  }
  void counted(const cluster::ObservedUpdate& update) override {
    if (other_) other_->counted(update);
  }
  void stepped(int trainer, uint64_t global_step) override {
    meters_->global_step.set(double(global_step));
    if (other_) other_->stepped(trainer, global_step);
  }
  void ended(int trainer, uint64_t global_step) override {
    if (other_) other_->ended(trainer, global_step);
  }
  void replaced(int trainer) override {
    if (other_) other_->replaced(trainer);
  }
  void connected(int peers) override {
    meters_->peers_connected.set(double(peers));
    if (other_) other_->connected(peers);
  }

 private:
  const std::shared_ptr<monitor::TaskMeters> meters_;
  const std::shared_ptr<cluster::UpdateObserver> other_;
};

}  // namespace shoal
