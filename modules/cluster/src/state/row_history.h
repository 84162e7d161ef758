// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The rows of a shard that its newest updates have changed, so that a server sends a trainer only the rows
/// that the trainer lacks.
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "state/row_codec.h"

namespace shoal::cluster {

/// Remembers which rows the newest updates changed. If N rows of the shard can be updated singly (VariableSpec::lazy_rows),
/// it remembers at most min(N, 4096) updates, with at most N row numbers in all, and forgets older updates. A trainer whose
/// weights are older than the history gets all rows.
class RowHistory {
 public:
  RowHistory() = default;
  explicit RowHistory(const ShardSpec& spec);

  /// Forgets the history. Trainers whose weights are older than `version` get all rows from now on.
  void restart(uint64_t version);
  /// Adds the update that led to `version`. `rows` has, for each segment, the rows that the update has changed.
  void add(uint64_t version, std::span<const SegmentRows> rows);
  /// True if the history has all changes since `version`.
  bool covers(uint64_t version) const { return version >= first_ && version <= last_; }
  /// An upper bound for the number of rows that changed_since() returns.
  uint64_t changes_since(uint64_t version, size_t segment) const;
  /// The rows of segment `segment` that changed after `version`, ascending, each once.
  std::vector<uint32_t> changed_since(uint64_t version, size_t segment) const;

 private:
  struct Update {
    uint64_t version;
    std::vector<std::vector<uint32_t>> rows;  // By segment.
  };
  uint64_t first_ = 1, last_ = 0;  // first_ > last_: the history is empty.
  uint64_t rows_max_ = 0;
  uint64_t rows_held_ = 0;
  std::deque<Update> updates_;  // The updates from first_ + 1 to last_.
};

}  // namespace shoal::cluster
