#include "trainer/row_push.h"

#include <algorithm>
#include <cstring>

namespace shoal::cluster {
namespace {

const VariableSpec* find_variable(const ShardPlan& plan, const std::string& name) {
  for (const ShardSpec& shard : plan.shards) {
    for (const Segment& segment : shard.segments) {
      if (segment.variable.name == name) return &segment.variable;
    }
  }
  return nullptr;
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
  for (const std::string& name : by_rows) {
    SHOAL_TRY(RowSums sums, RowSums::make(find_variable(plan, name), name));
    sums_.push_back(std::move(sums));
  }
  names_ = by_rows;
  return bindings_.bind(plan, {}, by_rows);
}

const RowSums* RowPush::sums_of(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? nullptr : &sums_[size_t(found - names_.begin())];
}

Result<void> RowPush::write(std::span<const RowGradients> gradients) {
  SHOAL_TRY_VOID(sum_rows(gradients, sums_));
  for (size_t i = 0; i < sums_.size(); ++i) {
    const size_t row_bytes = size_t(sums_[i].width()) * sizeof(float);
    write_zeros(bindings_.updates()[i], row_bytes);
    write_sums(sums_[i], bindings_.updates()[i], row_bytes);
  }
  return {};
}

}  // namespace shoal::cluster
