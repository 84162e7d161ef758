// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Encodes a shard's arena in fewer bytes. Numbers are little-endian; every part begins at a multiple of 64 bytes.
///   kBfloat16, kFloat16   16 bits for each float of the arena, the gaps between segments included
///   kInt8                 a float32 scale for each block, then 8 bits for each float of the arena, signed, in units of the
///                         scale of its block. A block is 256 floats of one segment; a segment's last block is shorter.
///   kTopK                 u64: the number n of values. n u32: which floats of the arena, ascending. n float32: their
///                         values; all other floats are 0.
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

/// The size of an encoded arena of `spec`, in bytes. Not for kSparseRows. `fraction` is for kTopK.
uint64_t encoded_bytes(const ShardSpec& spec, transport::Encoding encoding, double fraction = 1);

/// Fills `payload` (encoded_bytes() bytes) from `arena`, for kBfloat16, kFloat16 or kInt8. A kInt8 block that contains
/// a NaN or an infinity is decoded as all NaN.
void encode(const ShardSpec& spec, transport::Encoding encoding, std::span<const std::byte> arena,
            std::span<std::byte> payload);

/// Fills all of `arena` from a payload that came over the network. InvalidArgument if the payload does not fit the spec, or
/// if the encoding has no fixed layout (kSparseRows) or needs no decoding (kDense); `arena` may then be partly filled.
Result<void> decode(const ShardSpec& spec, transport::Encoding encoding, std::span<const std::byte> payload,
                    std::span<std::byte> arena);

/// Chooses which values of each gradient are sent (the largest), and adds the others to a residual: at any time the sum
/// of all gradients equals the sum of all payloads plus residual(). One object per shard and trainer.
class TopK {
 public:
  TopK(const ShardSpec& spec, double fraction, BufferPool& pool);

  /// Fills `payload` (encoded_bytes() bytes) with the largest values of `gradient` plus the residual. Of values of equal
  /// magnitude, those that come first in the arena are sent.
  void encode(std::span<const std::byte> gradient, std::span<std::byte> payload);
  /// Adds the values of the last encode()'s payload back to the residual, since the payload had no effect.
  void take_back(std::span<const std::byte> payload);
  /// Undoes the last encode(): gives the residual the values from before that call. The gradient that was encoded is lost.
  /// Afterwards kept_before() is not valid.
  void go_back() { std::swap(residual_, before_); }
  std::span<const float> residual() const;
  /// The memory of the present residual (kept) and of the residual before the last encode() (kept_before). As long as a
  /// caller has a copy of such a reference, encode() does not write to this memory.
  const Ref<Buffer>& kept() const { return residual_; }
  const Ref<Buffer>& kept_before() const { return before_; }
  /// Continues from the residual in `arena`, which an earlier process of this trainer had.
  void resume(std::span<const std::byte> arena);
  /// Forgets the residual, since the weights were replaced.
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
