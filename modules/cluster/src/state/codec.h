// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The arena of a shard in fewer bytes, and back. Numbers are little-endian; every part begins at a multiple of 64 bytes.
///
///   kBfloat16, kFloat16   16 bits for each float of the arena, the gaps between segments too
///   kInt8                 a float32 scale for each block, then 8 bits for each float of the arena, signed, in units of the
///                         scale of its block. Blocks are 256 floats of one segment, the last of a segment the rest.
///   kTopK                 u64: how many, n. n u32: which floats of the arena, ascending. n float32: their values; all
///                         others are 0.
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

/// The bytes of an arena of `spec`. Not for kSparseRows. `fraction` is that of kTopK.
uint64_t encoded_bytes(const ShardSpec& spec, transport::Encoding encoding, double fraction = 1);

/// Fills `payload` (encoded_bytes()) from `arena`, as kBfloat16, kFloat16 or kInt8. A block of kInt8 with a value that
/// is not finite becomes NaN as a whole.
void encode(const ShardSpec& spec, transport::Encoding encoding, std::span<const std::byte> arena,
            std::span<std::byte> payload);

/// Fills all of `arena` from a payload of the network. InvalidArgument, with `arena` in any state: it does not fit the
/// spec, or the encoding has no fixed layout (kSparseRows) or needs no decoding (kDense).
Result<void> decode(const ShardSpec& spec, transport::Encoding encoding, std::span<const std::byte> payload,
                    std::span<std::byte> arena);

/// Chooses what of a gradient is sent, and remembers the rest: at any time what came in is what went out plus residual().
/// One shard's, one trainer's.
class TopK {
 public:
  TopK(const ShardSpec& spec, double fraction, BufferPool& pool);

  /// Fills `payload` (encoded_bytes()) from `gradient` and what is left of those before. Of equal magnitudes the first
  /// counts.
  void encode(std::span<const std::byte> gradient, std::span<std::byte> payload);
  /// The payload of the last encode() has no effect: its values are left, too.
  void take_back(std::span<const std::byte> payload);
  /// Forgets the last encode(), gradient and all. Then kept_before() is not known.
  void go_back() { std::swap(residual_, before_); }
  std::span<const float> residual() const;
  /// The arena of residual(), and what it was before the last encode(). Later ones leave both alone while somebody else
  /// holds them.
  const Ref<Buffer>& kept() const { return residual_; }
  const Ref<Buffer>& kept_before() const { return before_; }
  /// Goes on from `arena`, which another process kept.
  void resume(std::span<const std::byte> arena);
  /// Forgets the rest: the weights are others now.
  void clear();

 private:
  Ref<Buffer> zeros() const;
  void select(const Segment& segment, float* rest, uint32_t* places, float* values);

  const ShardSpec& spec_;
  const double fraction_;
  BufferPool& pool_;
  Ref<Buffer> residual_, before_;
  std::vector<uint32_t> candidates_;
};

}  // namespace shoal::cluster
