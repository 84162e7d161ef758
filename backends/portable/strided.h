// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Copies between two ways of laying out the same elements: transposes, slices, borders, pieces of a whole.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/base/shape.h"

namespace shoal::backends::portable {

/// One axis of a copy: how many elements, and how far apart they are on each side (in elements).
struct CopyAxis {
  int64_t size;
  int64_t source;
  int64_t target;
};

/// How many elements lie between neighbours along each axis of a dense array.
std::array<int64_t, Shape::kRankMax> dense_steps(const Shape& shape);

/// A copy, planned once: axes that are neighbours in memory on both sides are one, runs of bytes are copied whole, and two
/// axes that change places are walked in tiles. run() allocates nothing.
class StridedCopy {
 public:
  StridedCopy(std::vector<CopyAxis> axes, size_t element_bytes);
  void run(int threads, const std::byte* source, std::byte* target) const;

 private:
  static constexpr int64_t kShare = 64;  ///< Steps down that one thread takes at a time.
  void copy_share(int64_t share, const std::byte* source, std::byte* target) const;

  std::vector<CopyAxis> outer_;  ///< The other axes. Distances are in bytes, here and below.
  int64_t rows_ = 1;             ///< All combinations of the outer axes.
  CopyAxis down_{1, 0, 0};       ///< One of the two innermost loops, with neighbours near each other on the source.
  CopyAxis right_{1, 0, 0};      ///< The other one, with neighbours near each other on the target.
  int64_t shares_ = 1;           ///< How many shares down_ has in each row.
  size_t run_bytes_;             ///< What one innermost step copies.
};

}  // namespace shoal::backends::portable
