// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Loops for ops whose operands broadcast: as few nested loops as possible, the innermost over contiguous elements.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "shoal/base/shape.h"
#include "threads.h"

namespace shoal::backends::portable {

/// The distance between an operand's elements along each axis of the result; 0 along axes where the operand is repeated.
using Strides = std::array<int64_t, Shape::kRankMax>;
/// The strides of `part`, which is aligned with `full` at the last axis and repeated along axes of size 1.
Strides broadcast_strides(const Shape& full, const Shape& part);
/// The strides of an operand that has all axes of `full` except `axes` (or has these with size 1).
Strides strides_without(const Shape& full, std::span<const int64_t> axes);

/// A part of a result: `rows` contiguous rows of `columns` elements. `operands` says where each operand has the elements
/// for this part.
struct Tile {
  struct Operand {
    int64_t first;       ///< Offset of the first element of the operand that the tile uses.
    int64_t row_stride;  ///< Distance to the next row.
    bool moves;          ///< True if the operand advances along a row; else it has one element per row.
  };
  static constexpr size_t kOperandsMax = 3;
  int64_t first;  ///< Offset of the tile's first element in the result.
  int64_t rows;
  int64_t columns;
  std::array<Operand, kOperandsMax> operands;
};

/// Nested loops over the elements of a result. Drops axes of size 1. Makes one loop of two neighbouring axes if each
/// operand either has a stride along both or is repeated along both.
class LoopNest {
 public:
  LoopNest(const Shape& result, std::initializer_list<Strides> operands);

  /// Calls body(tile) for tiles that cover the result, on up to `threads` threads. `element_bytes` is the cost of an
  /// element, expressed as bytes moved.
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
  /// Returns a tile that begins with row `begin`. A row is one iteration of the second-innermost loop. The tile ends before
  /// row `end`, or earlier, where that loop is complete.
  Tile rows(int64_t begin, int64_t end) const;

  std::array<Loop, Shape::kRankMax> loops_{};  ///< The outermost loop comes first; there is at least one.
  int depth_ = 0;
  int64_t elements_;
};

}  // namespace shoal::backends::portable
