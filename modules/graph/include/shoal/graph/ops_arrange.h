// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ops that move elements without computing with them. Each takes any type that graphs hold, gradients flow through
/// float32. An axis below 0 counts from the end: -1 is the last. Included by ops.h, whose first comment holds here too.
#include <cstdint>
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// Axis i of the result is axis permutation[i] of x: with {0, 2, 1, 3}, [n, t, h, d] becomes [n, h, t, d].
///
///   permutation  each axis of x once
Value transpose(Value x, const std::vector<int>& permutation, std::string_view name = "");
/// The last two axes exchanged. Rank >= 2.
Value matrix_transpose(Value x, std::string_view name = "");

/// The values one after the other along one axis.
///
///   values   at least one, at most 4096; of one type; their shapes differ in the size of `axis` only, which is a number
Value concat(const std::vector<Value>& values, int axis, std::string_view name = "");

/// The opposite of concat: pieces of these sizes along one axis, whose size is a number and the sum of `sizes`.
std::vector<Value> split(Value x, int axis, const std::vector<int64_t>& sizes, std::string_view name = "");

/// Which elements of an axis: begin, begin + stride, ... An axis whose size is a symbol can only be taken whole.
struct SliceRange {
  int64_t begin = 0;   ///< A number below 0 counts from the end.
  int64_t size = -1;   ///< How many elements. -1: all from `begin` on.
  int64_t stride = 1;  ///< A number >= 1.
};
/// A part of x: `ranges` belong to its first axes, the others are taken whole. Column 3 of [n, 5] as [n, 1]:
/// `slice(x, {{}, {.begin = 3, .size = 1}})`.
Value slice(Value x, const std::vector<SliceRange>& ranges, std::string_view name = "");

/// Elements added at both ends of an axis; an axis whose size is a symbol takes none.
struct PadRange {
  int64_t before = 0;  ///< A number >= 0.
  int64_t after = 0;   ///< A number >= 0.
};
struct PadOptions {
  std::vector<PadRange> ranges{};  ///< Ranges of the first axes; the others are not padded.
  double value = 0;                ///< What the added elements are, rounded to x's type.
};
/// x with a border: float32, int32, int64, uint8 or bool.
Value pad(Value x, const PadOptions& options, std::string_view name = "");

}  // namespace shoal::ops
