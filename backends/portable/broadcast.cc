// SPDX-License-Identifier: Apache-2.0
#include "broadcast.h"

namespace shoal::backends::portable {

Strides broadcast_strides(const Shape& full, const Shape& part) {
  Strides strides{};
  int64_t stride = 1;
  for (int axis = part.rank() - 1, at = full.rank() - 1; axis >= 0; --axis, --at) {
    if (part[axis] != 1) strides[size_t(at)] = stride;
    stride *= part[axis];
  }
  return strides;
}

Strides strides_without(const Shape& full, std::span<const int64_t> axes) {
  Strides strides{};
  int64_t stride = 1;
  for (int axis = full.rank() - 1; axis >= 0; --axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    strides[size_t(axis)] = stride;
    stride *= full[axis];
  }
  return strides;
}

LoopNest::LoopNest(const Shape& result, std::initializer_list<Strides> operands) : elements_(result.elements()) {
  SHOAL_CHECK(operands.size() <= Tile::kOperandsMax);
  for (int axis = 0; axis < result.rank(); ++axis) {
    if (result[axis] == 1) continue;
    Loop loop{result[axis], {}};
    for (size_t i = 0; i < operands.size(); ++i) loop.strides[i] = operands.begin()[i][size_t(axis)];
    bool merges = depth_ > 0;
    if (merges) {
      const Loop& outer = loops_[size_t(depth_) - 1];
      for (size_t i = 0; i < operands.size(); ++i) merges = merges && outer.strides[i] == loop.strides[i] * loop.count;
    }
    if (merges) {
      loop.count *= loops_[size_t(depth_) - 1].count;
      loops_[size_t(depth_) - 1] = loop;
    } else {
      loops_[size_t(depth_++)] = loop;
    }
  }
  if (depth_ == 0) loops_[size_t(depth_++)] = {1, {}};
}

Tile LoopNest::part_of_row(int64_t begin, int64_t end) const {
  Tile tile{.first = begin, .rows = 1, .columns = end - begin, .operands = {}};
  for (size_t i = 0; i < Tile::kOperandsMax; ++i) {
    const int64_t stride = loops_[0].strides[i];
    tile.operands[i] = {begin * stride, 0, stride != 0};
  }
  return tile;
}

Tile LoopNest::rows(int64_t begin, int64_t end) const {
  const Loop& inner = loops_[size_t(depth_) - 1];
  const Loop& around = loops_[size_t(depth_) - 2];
  Tile tile{.first = begin * inner.count, .rows = 0, .columns = inner.count, .operands = {}};
  tile.rows = std::min(around.count - begin % around.count, end - begin);
  for (size_t i = 0; i < Tile::kOperandsMax; ++i) tile.operands[i] = {0, around.strides[i], inner.strides[i] != 0};
  int64_t rest = begin;
  for (int level = depth_ - 2; level >= 0; --level) {
    const Loop& loop = loops_[size_t(level)];
    for (size_t i = 0; i < Tile::kOperandsMax; ++i) tile.operands[i].first += rest % loop.count * loop.strides[i];
    rest /= loop.count;
  }
  return tile;
}

}  // namespace shoal::backends::portable
