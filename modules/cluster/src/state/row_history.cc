// SPDX-License-Identifier: Apache-2.0
#include "state/row_history.h"

#include <algorithm>

namespace shoal::cluster {
namespace {

constexpr uint64_t kUpdatesMax = 4096;  // A trainer that lacks more updates gets all rows.

uint64_t count(const std::vector<std::vector<uint32_t>>& rows) {
  uint64_t sum = 0;
  for (const auto& of_segment : rows) sum += of_segment.size();
  return sum;
}

}  // namespace

RowHistory::RowHistory(const ShardSpec& spec) {
  for (const Segment& segment : spec.segments) {
    if (segment.variable.lazy_rows) rows_max_ += uint64_t(segment.row_end - segment.row_begin);
  }
}

void RowHistory::restart(uint64_t version) {
  first_ = last_ = version;
  updates_.clear();
  rows_held_ = 0;
}

void RowHistory::add(uint64_t version, std::span<const SegmentRows> rows) {
  SHOAL_CHECK(version == last_ + 1);
  last_ = version;
  Update& update = updates_.emplace_back(Update{version, {}});
  for (const SegmentRows& of_segment : rows) update.rows.push_back(of_segment.rows);
  rows_held_ += count(update.rows);
  while (rows_held_ > rows_max_ || updates_.size() > std::min(rows_max_, kUpdatesMax)) {
    rows_held_ -= count(updates_.front().rows);
    first_ = updates_.front().version;
    updates_.pop_front();
  }
}

uint64_t RowHistory::changes_since(uint64_t version, size_t segment) const {
  uint64_t changes = 0;
  for (auto update = updates_.rbegin(); update != updates_.rend() && update->version > version; ++update) {
    changes += update->rows[segment].size();
  }
  return changes;
}

std::vector<uint32_t> RowHistory::changed_since(uint64_t version, size_t segment) const {
  std::vector<uint32_t> rows;
  for (auto update = updates_.rbegin(); update != updates_.rend() && update->version > version; ++update) {
    const std::vector<uint32_t>& more = update->rows[segment];
    rows.insert(rows.end(), more.begin(), more.end());
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace shoal::cluster
