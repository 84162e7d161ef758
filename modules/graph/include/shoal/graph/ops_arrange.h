// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ops that move elements without computing with them. Each takes any type that a graph may have; gradients flow through
/// float32. An axis below 0 counts from the end: -1 is the last one. Included by ops.h, whose first comment applies here
/// too.
#include <cstdint>
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// Axis i of the result is axis permutation[i] of x: with {0, 2, 1, 3}, [n, t, h, d] becomes [n, h, t, d].
///
///   permutation  each axis of x once
Value transpose(Value x, const std::vector<int>& permutation, std::string_view name = "");
/// Exchanges the last two axes. Rank >= 2.
Value matrix_transpose(Value x, std::string_view name = "");

/// Joins the values along one axis.
///
///   values   1 to 4096 values of one type; their shapes differ only in the size of `axis`, which is a number
Value concat(const std::vector<Value>& values, int axis, std::string_view name = "");

/// The opposite of concat: cuts x along one axis into pieces of these sizes. The size of the axis has to be a number, not a
/// symbol, and equal to the sum of `sizes`.
std::vector<Value> split(Value x, int axis, const std::vector<int64_t>& sizes, std::string_view name = "");

/// Elements of an axis: begin, begin + stride, ... If the size of the axis is a symbol, only the whole axis can be taken.
struct SliceRange {
  int64_t begin = 0;   ///< The first index. A number below 0 counts from the end of the axis: -1 is the last element.
  int64_t size = -1;   ///< The number of elements. -1: all from `begin` on.
  int64_t stride = 1;  ///< A number >= 1.
};
/// A part of x. `ranges` apply to its first axes; the others are taken whole. Column 3 of [n, 5] as [n, 1]:
/// `slice(x, {{}, {.begin = 3, .size = 1}})`.
Value slice(Value x, const std::vector<SliceRange>& ranges, std::string_view name = "");

/// Elements added at both ends of an axis. An axis whose size is a symbol cannot be padded.
struct PadRange {
  int64_t before = 0;  ///< A number >= 0.
  int64_t after = 0;   ///< A number >= 0.
};
struct PadOptions {
  std::vector<PadRange> ranges{};  ///< The ranges of the first axes; the others are not padded.
  double value = 0;                ///< The value of the added elements, rounded to x's type.
};
/// Adds elements at both ends of the axes of x; all of them have the same value. x is float32, int32, int64, uint8 or bool.
Value pad(Value x, const PadOptions& options, std::string_view name = "");

}  // namespace shoal::ops
