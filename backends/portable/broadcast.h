// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The loops of ops whose operands broadcast: as few as there can be, the innermost over contiguous elements.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "shoal/base/shape.h"
#include "threads.h"

namespace shoal::backends::portable {

/// How far apart an operand's elements are along each axis of the result; 0 where it is repeated.
using Strides = std::array<int64_t, Shape::kRankMax>;
/// `part` is aligned with `full` at the last axis, and repeated along axes of size 1.
Strides broadcast_strides(const Shape& full, const Shape& part);
/// The operand has all axes of `full` but these (or has them with size 1).
Strides strides_without(const Shape& full, std::span<const int64_t> axes);

/// Rows of a result that lie one after the other, and where their operands are.
struct Tile {
  struct Operand {
    int64_t first;       ///< Offset of the first element.
    int64_t row_stride;  ///< Distance to the next row.
    bool moves;          ///< Whether it moves along a row; else one element serves for all of it.
  };
  static constexpr size_t kOperandsMax = 3;
  int64_t first;  ///< Offset of the result's first element.
  int64_t rows;
  int64_t columns;
  std::array<Operand, kOperandsMax> operands;
};

/// Axes of size 1 are dropped, and neighbours become one loop where every operand walks through both, or through neither.
class LoopNest {
 public:
  LoopNest(const Shape& result, std::initializer_list<Strides> operands);

  /// Calls body(tile) for tiles that cover the result, on up to `threads` threads. An element costs as much as moving
  /// `element_bytes`.
  template <class Body>
  void run(int threads, int64_t element_bytes, const Body& body) const {
    if (elements_ == 0) return;
    const int64_t columns = loops_[size_t(depth_) - 1].count;
    if (depth_ == 1) {
      parallel_for(threads, columns, columns * element_bytes,
                   [&](int64_t begin, int64_t end) { body(part_of_row(begin, end)); });
      return;
    }
    parallel_for(threads, elements_ / columns, elements_ * element_bytes, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const Tile tile = rows(begin, end);
        body(tile);
        begin += tile.rows;
      }
    });
  }

 private:
  struct Loop {
    int64_t count;
    std::array<int64_t, Tile::kOperandsMax> strides;
  };
  Tile part_of_row(int64_t begin, int64_t end) const;
  /// The rows from `begin` on, as many as lie in one run of the loop around them.
  Tile rows(int64_t begin, int64_t end) const;

  std::array<Loop, Shape::kRankMax> loops_{};  ///< The outermost loop is first; there is at least one.
  int depth_ = 0;
  int64_t elements_;
};

}  // namespace shoal::backends::portable
