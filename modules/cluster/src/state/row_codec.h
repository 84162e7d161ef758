// SPDX-License-Identifier: Apache-2.0
#pragma once
/// kSparseRows: an encoding of an arena. If the variable of a segment has lazy rows (VariableSpec::lazy_rows), the payload
/// contains only some rows of the segment; other segments are contained whole. The table shows the payload of one segment;
/// segments are in order of offset. The number n, the row numbers and the floats each begin at a multiple of 64 bytes.
///   without lazy rows   the segment's floats
///   with lazy rows      u64: the number n of rows. n u32: which rows of the variable, ascending. n rows of floats.
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/cluster/shard_plan.h"
#include "state/row_sums.h"

namespace shoal::cluster {

/// Rows of one segment, with the addresses of their floats. Each step reuses the memory.
struct SegmentRows {
  std::vector<uint32_t> rows;  ///< Row numbers in the variable, ascending.
  std::vector<const float*> values;
  void clear() {
    rows.clear();
    values.clear();
  }
};

/// The number of floats in a row of the segment's variable.
int64_t row_width(const Segment& segment);
/// Fills `to` with the rows of `sums` that belong to the segment. `to` is valid until `sums` changes.
void take_rows(const Segment& segment, const RowSums& sums, SegmentRows& to);
/// Fills `to` with the rows of the segment whose numbers `rows` lists (ascending). `to` then has the addresses of the rows'
/// floats in `arena`.
void take_rows(const Segment& segment, std::vector<uint32_t> rows, std::span<const std::byte> arena, SegmentRows& to);

/// The size of a payload in bytes. `rows` has one entry per segment, empty for segments that are sent whole.
uint64_t row_payload_bytes(const ShardSpec& spec, std::span<const SegmentRows> rows);
/// Fills `payload` (row_payload_bytes() bytes): with `rows` for segments that have lazy rows (VariableSpec::lazy_rows), and
/// from `arena` for other segments.
void encode_rows(const ShardSpec& spec, std::span<const std::byte> arena, std::span<const SegmentRows> rows,
                 std::span<std::byte> payload);
/// Decodes a payload that came over the network. Segments that were sent whole go into `arena`. For the others `rows` (one
/// entry per segment) gets row numbers, and pointers to the rows in `payload`. InvalidArgument saying what does not fit the
/// spec; `arena` may then have changed.
Result<void> decode_rows(const ShardSpec& spec, std::span<const std::byte> payload, std::span<std::byte> arena,
                         std::span<SegmentRows> rows);
/// Copies the rows in `rows`, which has an entry for each segment, to where they belong in `arena`.
void store_rows(const ShardSpec& spec, std::span<const SegmentRows> rows, std::span<std::byte> arena);

}  // namespace shoal::cluster
