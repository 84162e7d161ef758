// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which rows of a shard the newest updates have changed, so that a trainer can be sent those that it lacks.
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "state/row_codec.h"

namespace shoal::cluster {

/// Bounded: as many row numbers as the shard has lazy rows, and 4096 updates. Who is further behind gets everything.
class RowHistory {
 public:
  RowHistory() = default;
  explicit RowHistory(const ShardSpec& spec);

  /// Any row may have changed up to `version`.
  void restart(uint64_t version);
  /// The update that made `version`, the one after the last, changed these rows; one entry per segment.
  void add(uint64_t version, std::span<const SegmentRows> rows);
  /// True if all changes since `version` are known.
  bool covers(uint64_t version) const { return version >= first_ && version <= last_; }
  /// A number of rows that is at least what changed_since() gives.
  uint64_t changes_since(uint64_t version, size_t segment) const;
  /// Rows of segment `segment` that changed after `version`, ascending, each once.
  std::vector<uint32_t> changed_since(uint64_t version, size_t segment) const;

 private:
  struct Update {
    uint64_t version;
    std::vector<std::vector<uint32_t>> rows;  // Rows by segment.
  };
  uint64_t first_ = 1, last_ = 0;  // Together they cover nothing yet.
  uint64_t rows_max_ = 0;
  uint64_t rows_held_ = 0;
  std::deque<Update> updates_;  // Updates from first_ + 1 to last_.
};

}  // namespace shoal::cluster
