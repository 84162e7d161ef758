// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's exchange of weights and gradients with one server, in all parts of its shard (usually there is one part).
#include <vector>

#include "state/parted_arena.h"
#include "trainer/shard_traffic.h"

namespace shoal::cluster {

class ServerTraffic {
 public:
  /// `first`: how many parts the servers with lower numbers have together (see number()).
  ServerTraffic(BufferPool& pool, const ShardSpec& spec, const Compression& compression, size_t first);
  ServerTraffic(ServerTraffic&&) = default;  // Only moved: a copy's traffic_ would point into the original.

  /// The parts of all servers are numbered consecutively. Returns the number of this server's part i.
  size_t number(size_t i) const { return first_ + i; }
  std::vector<ShardTraffic>& parts() { return traffic_; }
  const std::vector<ShardTraffic>& parts() const { return traffic_; }
  uint64_t arena_bytes() const { return arena_bytes_; }

  bool has_weights() const;
  void drop_weights();
  /// The version of the weights that have arrived for the first part of the shard. The weights of the other parts may not
  /// have arrived yet.
  uint64_t version() const { return traffic_.front().version(); }

  /// The residual of top-k: gradients that earlier pushes have not sent. Empty without top-k.
  PartedArena kept_back() const;
  struct Residual {
    PartedArena arena;
    uint64_t after = 0;
  };
  /// The bytes exchanged with the server so far, for all parts of its shard together.
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
  std::vector<ShardTraffic> traffic_;  // One entry for each part of the shard: entry i points to parts_[i].
};

}  // namespace shoal::cluster
