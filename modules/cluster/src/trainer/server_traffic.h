// SPDX-License-Identifier: Apache-2.0
#pragma once
/// All parts of what goes between a trainer and one server. Usually there is one.
#include <vector>

#include "state/parted_arena.h"
#include "trainer/shard_traffic.h"

namespace shoal::cluster {

class ServerTraffic {
 public:
  /// `first`: how many parts the servers before have.
  ServerTraffic(BufferPool& pool, const ShardSpec& spec, const Compression& compression, size_t first);
  ServerTraffic(ServerTraffic&&) = default;  // A copy would point into the original.

  /// Which of all parts of all servers part i is: its number in bindings.
  size_t number(size_t i) const { return first_ + i; }
  std::vector<ShardTraffic>& parts() { return traffic_; }
  const std::vector<ShardTraffic>& parts() const { return traffic_; }
  uint64_t arena_bytes() const { return arena_bytes_; }

  bool has_weights() const;
  void drop_weights();
  /// The version of the weights, which is that of its first part: the others may be on their way.
  uint64_t version() const { return traffic_.front().version(); }

  /// What top-k keeps back, as ShardTraffic has it. Empty without.
  PartedArena kept_back() const;
  struct Residual {
    PartedArena arena;
    uint64_t after = 0;
  };
  /// Of all parts.
  TrafficBytes bytes() const;
  Residual residual() const;
  Residual residual_before() const;
  void resume(std::span<const std::byte> residual);
  void restart();

 private:
  using PartResidual = ShardTraffic::Residual (ShardTraffic::*)() const;
  Residual residual_of(PartResidual part) const;

  size_t first_;
  uint64_t arena_bytes_;
  std::vector<ShardPart> parts_;
  std::vector<ShardTraffic> traffic_;  // One entry for each part, which it points to.
};

}  // namespace shoal::cluster
