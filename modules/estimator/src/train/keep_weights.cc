// SPDX-License-Identifier: Apache-2.0
#include "train/keep_weights.h"

#include <algorithm>
#include <cstring>

#include "shoal/base/compute.h"

namespace shoal {
namespace {

constexpr uint64_t kKeptPartBytes = uint64_t(16) << 20;

/// Returns the memory of a segment: a part of the memory of its variable. Allocates the variable's memory at the first call
/// for one of its segments.
std::span<std::byte> place_of(TrainedWeights& weights, const cluster::Segment& segment) {
  const cluster::VariableSpec& variable = segment.variable;
  const auto [entry, added] = weights.values.try_emplace(variable.name, Tensor());
  if (added) entry->second = Tensor(variable.dtype, variable.shape);
  std::byte* const data = entry->second.mutable_view().data;
  return {data + uint64_t(segment.first_element()) * size_of(variable.dtype), size_t(segment.bytes)};
}

}  // namespace

Task<Result<std::shared_ptr<const TrainedWeights>>> keep_weights(Environment& env, cluster::Store& store,
                                                                 TrainedWeights weights) {
  cluster::Positions none;  // The weights need no input positions, since no training resumes from them.
  SHOAL_CO_TRY(const std::unique_ptr<cluster::Snapshot> snapshot, co_await store.snapshot(std::move(none)));
  weights.global_step = int64_t(snapshot->info().global_step);
  const std::vector<cluster::ShardSpec>& shards = snapshot->plan().shards;
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    for (const cluster::Segment& segment : shards[shard].segments) {
      const std::span<std::byte> place = place_of(weights, segment);
      for (uint64_t at = 0; at < segment.bytes; at += kKeptPartBytes) {
        const uint64_t bytes = std::min(kKeptPartBytes, segment.bytes - at);
        SHOAL_CO_TRY(const cluster::Snapshot::Part part,
                     co_await snapshot->read(int(shard), 0, segment.offset + at, bytes));
        const auto copy = [&] { std::memcpy(place.data() + at, part.bytes.data(), part.bytes.size()); };
        SHOAL_CO_TRY_VOID(co_await compute(env, copy));
      }
    }
  }
  SHOAL_CO_TRY_VOID(co_await snapshot->release());
  co_return std::make_shared<const TrainedWeights>(std::move(weights));
}

}  // namespace shoal
