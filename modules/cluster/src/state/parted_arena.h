// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contents of a shard's arena (its weights, say) at one moment: a list of parts, each with a reference that keeps the
/// part's memory alive.
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/cluster/snapshot.h"

namespace shoal::cluster {

class PartedArena {
 public:
  /// Appends a part.
  void add(std::span<const std::byte> bytes, Ref<const Buffer> holder) { parts_.push_back({bytes, std::move(holder)}); }
  bool empty() const { return parts_.empty(); }
  uint64_t size() const;
  /// Returns the `bytes` bytes from `offset` on, all of which lie in the arena. Copies them only if they span several
  /// parts.
  Snapshot::Part read(uint64_t offset, uint64_t bytes, BufferPool& pool) const;

 private:
  std::vector<Snapshot::Part> parts_;
};

}  // namespace shoal::cluster
