// SPDX-License-Identifier: Apache-2.0
#include "strided.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "threads.h"

namespace shoal::backends::portable {
namespace {

/// Removes axes of size one, and joins two neighbouring axes if together they are one evenly spaced axis, in the source as
/// well as in the target.
std::vector<CopyAxis> merged(const std::vector<CopyAxis>& axes) {
  std::vector<CopyAxis> result;
  for (const CopyAxis& axis : axes) {
    if (axis.size == 1) continue;
    if (!result.empty() && result.back().source == axis.size * axis.source &&
        result.back().target == axis.size * axis.target) {
      result.back() = {result.back().size * axis.size, axis.source, axis.target};
    } else {
      result.push_back(axis);
    }
  }
  return result;
}

template <size_t kBytes>
void copy_plane(const CopyAxis& down, const CopyAxis& right, const std::byte* source, std::byte* target) {
  // Copies tiles of 16 x 16 elements: with four bytes each, a tile uses only 16 cache lines of the source and 16 of the
  // target.
  constexpr int64_t kTile = 16;
  for (int64_t d = 0; d < down.size; d += kTile) {
    const int64_t d_end = std::min(d + kTile, down.size);
    for (int64_t r = 0; r < right.size; r += kTile) {
      const int64_t r_end = std::min(r + kTile, right.size);
      for (int64_t i = d; i < d_end; ++i) {
        const std::byte* from = source + i * down.source + r * right.source;
        std::byte* to = target + i * down.target + r * right.target;
        for (int64_t k = r; k < r_end; ++k, from += right.source, to += right.target) std::memcpy(to, from, kBytes);
      }
    }
  }
}

void copy_runs(const CopyAxis& down, const CopyAxis& right, size_t bytes, const std::byte* source, std::byte* target) {
  for (int64_t d = 0; d < down.size; ++d) {
    for (int64_t r = 0; r < right.size; ++r) {
      std::memcpy(target + d * down.target + r * right.target, source + d * down.source + r * right.source, bytes);
    }
  }
}

}  // namespace

std::array<int64_t, Shape::kRankMax> dense_steps(const Shape& shape) {
  std::array<int64_t, Shape::kRankMax> steps{};
  int64_t step = 1;
  for (int axis = shape.rank(); axis-- > 0; step *= shape[axis]) steps[size_t(axis)] = step;
  return steps;
}

StridedCopy::StridedCopy(std::vector<CopyAxis> axes, size_t element_bytes) : run_bytes_(element_bytes) {
  for (const CopyAxis& axis : axes) {
    if (axis.size == 0) rows_ = 0;
  }
  if (rows_ == 0) return;
  axes = merged(axes);
  if (!axes.empty() && axes.back().source == 1 && axes.back().target == 1) {
    run_bytes_ = size_t(axes.back().size) * element_bytes;
    axes.pop_back();
  }
  for (CopyAxis& axis : axes) {
    axis.source *= int64_t(element_bytes);
    axis.target *= int64_t(element_bytes);
  }
  auto take = [&axes](auto key) {
    if (axes.empty()) return CopyAxis{1, 0, 0};
    const auto at =
        std::min_element(axes.begin(), axes.end(), [&](const CopyAxis& a, const CopyAxis& b) { return key(a) < key(b); });
    const CopyAxis axis = *at;
    axes.erase(at);
    return axis;
  };
  right_ = take([](const CopyAxis& axis) { return axis.target; });
  down_ = take([](const CopyAxis& axis) { return axis.source; });
  outer_ = std::move(axes);
  for (const CopyAxis& axis : outer_) rows_ *= axis.size;
  if (down_.size == 1) std::swap(down_, right_);  // The axis down_ is divided among threads, so its size should not be 1.
  shares_ = (down_.size + kShare - 1) / kShare;
}

void StridedCopy::run(int threads, const std::byte* source, std::byte* target) const {
  const int64_t bytes = rows_ * down_.size * right_.size * int64_t(run_bytes_);
  parallel_for(threads, rows_ * shares_, 2 * bytes, [=, this](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) copy_share(share, source, target);
  });
}

void StridedCopy::copy_share(int64_t share, const std::byte* source, std::byte* target) const {
  const int64_t first = share % shares_ * kShare;
  const CopyAxis down{std::min(kShare, down_.size - first), down_.source, down_.target};
  source += first * down.source;
  target += first * down.target;
  int64_t row = share / shares_;
  for (size_t axis = outer_.size(); axis-- > 0; row /= outer_[axis].size) {
    const int64_t index = row % outer_[axis].size;
    source += index * outer_[axis].source;
    target += index * outer_[axis].target;
  }
  switch (run_bytes_) {
    case 1: return copy_plane<1>(down, right_, source, target);
    case 4: return copy_plane<4>(down, right_, source, target);
    case 8: return copy_plane<8>(down, right_, source, target);
    default: return copy_runs(down, right_, run_bytes_, source, target);
  }
}

}  // namespace shoal::backends::portable
