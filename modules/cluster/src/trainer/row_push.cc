// SPDX-License-Identifier: Apache-2.0
#include "trainer/row_push.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

namespace shoal::cluster {
namespace {

std::map<std::string_view, const VariableSpec*> variables_of(const ShardPlan& plan) {
  std::map<std::string_view, const VariableSpec*> variables;
  for (const ShardSpec& shard : plan.shards) {
    for (const Segment& segment : shard.segments) variables.emplace(segment.variable.name, &segment.variable);
  }
  return variables;
}

void write_zeros(backends::MutablePieces pieces, size_t row_bytes) {
  for (const backends::MutablePiece& piece : pieces) {
    const size_t bytes = size_t(piece.row_end - piece.row_begin) * row_bytes;
    if (bytes > 0) std::memset(piece.data, 0, bytes);
  }
}

void write_sums(const RowSums& sums, backends::MutablePieces pieces, size_t row_bytes) {
  for (size_t i = 0; i < sums.touched().size(); ++i) {
    const int64_t row = sums.touched()[i];
    const auto piece = std::find_if(pieces.begin(), pieces.end(), [row](const auto& p) { return row < p.row_end; });
    std::memcpy(piece->data + size_t(row - piece->row_begin) * row_bytes, sums.sum(i), row_bytes);
  }
}

}  // namespace

Result<void> RowPush::bind(const ShardPlan& plan, const std::vector<std::string>& by_rows) {
  sums_.clear();
  denormals_ = plan.shards.empty() ? Denormals::kZero : plan.shards.front().denormals;
  const auto variables = variables_of(plan);
  for (const std::string& name : by_rows) {
    const auto at = variables.find(name);
    SHOAL_TRY(RowSums sums, RowSums::make(at == variables.end() ? nullptr : at->second, name));
    sums_.push_back(std::move(sums));
  }
  places_.clear();
  for (size_t i = 0; i < by_rows.size(); ++i) places_.emplace(by_rows[i], i);
  return bindings_.bind(plan, {}, by_rows);
}

const RowSums* RowPush::sums_of(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &sums_[found->second];
}

Result<void> RowPush::write(std::span<const RowGradients> gradients) {
  SHOAL_TRY_VOID(sum_rows(gradients, denormals_, sums_));
  for (size_t i = 0; i < sums_.size(); ++i) {
    const size_t row_bytes = size_t(sums_[i].width()) * sizeof(float);
    write_zeros(bindings_.updates()[i], row_bytes);
    write_sums(sums_[i], bindings_.updates()[i], row_bytes);
  }
  return {};
}

}  // namespace shoal::cluster
