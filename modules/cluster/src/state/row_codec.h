// SPDX-License-Identifier: Apache-2.0
#pragma once
/// kSparseRows: an arena in which the segments with lazy rows are there by rows alone. For each segment, in order of
/// offset and each part at a multiple of 64 bytes:
///   without lazy rows   its floats
///   with lazy rows      u64: how many rows, n. n u32: which rows of the variable, ascending. n rows of floats.
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/cluster/shard_plan.h"
#include "state/row_sums.h"

namespace shoal::cluster {

/// Rows of one segment, and where their floats lie. Reused from step to step.
struct SegmentRows {
  std::vector<uint32_t> rows;  ///< Rows of the variable, ascending.
  std::vector<const float*> values;
  void clear() {
    rows.clear();
    values.clear();
  }
};

/// Floats in a row of the segment's variable.
int64_t row_width(const Segment& segment);
/// Rows of `sums` that fall into the segment. Valid until `sums` changes.
void take_rows(const Segment& segment, const RowSums& sums, SegmentRows& to);
/// Rows of the segment, by number; `arena` holds it. `rows` are ascending.
void take_rows(const Segment& segment, std::vector<uint32_t> rows, std::span<const std::byte> arena, SegmentRows& to);

/// Bytes of a payload. `rows`: one per segment, empty for those without lazy rows.
uint64_t row_payload_bytes(const ShardSpec& spec, std::span<const SegmentRows> rows);
/// Fills `payload` (row_payload_bytes()) from `rows`, and from `arena` for all other segments.
void encode_rows(const ShardSpec& spec, std::span<const std::byte> arena, std::span<const SegmentRows> rows,
                 std::span<std::byte> payload);
/// Reads a payload of the network: all other segments into `arena`, whose lazy ones stay as they are, and `rows` (one
/// per segment), which point into `payload`. InvalidArgument saying what does not fit the spec; `arena` may have
/// changed then.
Result<void> decode_rows(const ShardSpec& spec, std::span<const std::byte> payload, std::span<std::byte> arena,
                         std::span<SegmentRows> rows);
/// Puts rows into their places.
void store_rows(const ShardSpec& spec, std::span<const SegmentRows> rows, std::span<std::byte> arena);

}  // namespace shoal::cluster
