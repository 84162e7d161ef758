// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Copies between two layouts of the same elements: transposes, slices, borders, pieces of a whole.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/base/shape.h"

namespace shoal::backends::portable {

/// One axis of a copy: its size, and the distance, in elements, between its neighbouring elements in the source and in the
/// target.
struct CopyAxis {
  int64_t size;
  int64_t source;
  int64_t target;
};

/// The distance, in elements, between neighbours along each axis of a dense array.
std::array<int64_t, Shape::kRankMax> dense_steps(const Shape& shape);

/// A copy that is planned once. Axes that are contiguous in the source and in the target are joined, contiguous bytes are
/// copied as a whole, and two axes that change places are copied in tiles. run() allocates nothing.
class StridedCopy {
 public:
  StridedCopy(std::vector<CopyAxis> axes, size_t element_bytes);
  void run(int threads, const std::byte* source, std::byte* target) const;

 private:
  static constexpr int64_t kShare = 64;  ///< The most elements of the axis down_ that a thread takes at a time.
  void copy_share(int64_t share, const std::byte* source, std::byte* target) const;

  std::vector<CopyAxis> outer_;  ///< All axes but down_ and right_. Distances are in bytes, here and below.
  int64_t rows_ = 1;             ///< The product of the sizes of outer_.
  CopyAxis down_{1, 0, 0};       ///< One of the two inner axes: its elements are near each other in the source.
  CopyAxis right_{1, 0, 0};      ///< The second inner axis: its elements are near each other in the target.
  int64_t shares_ = 1;           ///< Threads divide the axis down_ into so many parts, each of up to kShare elements.
  size_t run_bytes_;             ///< The bytes that one innermost step copies.
};

}  // namespace shoal::backends::portable
