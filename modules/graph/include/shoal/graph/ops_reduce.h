// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sums, means and maxima along axes, and their counterpart, repetition along axes. Reductions to a scalar are also in
/// ops.h.
#include <cstdint>
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::ops {

struct ReduceOptions {
  /// The axes to reduce, each in [-rank, rank) and none twice; a negative one counts from the end. Empty: all axes.
  std::vector<int64_t> axes{};
  bool keep_dims = false;  ///< True: the reduced axes stay in the shape, with size 1.
};
/// The sum of the elements along some axes; float32. 0 if there are no elements.
///
///   reduce_sum(x, {.axes = {-1}})                      [n, t, C] to [n, t]
///   reduce_sum(x, {.axes = {0, 1}, .keep_dims = true})  [n, t, C] to [1, 1, C]
Value reduce_sum(Value x, const ReduceOptions& options, std::string_view name = "");
/// The mean of the elements along some axes, with the options of reduce_sum(); NaN if there are no elements.
Value reduce_mean(Value x, const ReduceOptions& options, std::string_view name = "");
/// The largest of the elements along some axes, with the options of reduce_sum(); NaN if one of them is NaN, minus infinity
/// if there are no elements. Equal maxima share the gradient equally.
Value reduce_max(Value x, const ReduceOptions& options = {}, std::string_view name = "");

/// The gradient of broadcasting: the sum of x over the axes along which `like` (whose contents are not used) would be
/// repeated, with the shape of `like`; float32. Raises InvalidArgument unless `like` broadcasts to the shape of x.
///
///   x        [n, t, C]
///   like     [C], [1, C], [t, 1], [n, t, C], ...
///   returns  the shape of like
Value sum_like(Value x, Value like, std::string_view name = "");
/// x repeated to the shape of `like`, whose contents are not used; float32. Raises InvalidArgument unless x broadcasts to
/// that shape.
Value broadcast_like(Value x, Value like, std::string_view name = "");

}  // namespace shoal::ops
