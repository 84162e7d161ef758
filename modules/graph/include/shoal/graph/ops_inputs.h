// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ops for ids and labels as they come in. Included by ops.h, whose first comment holds here too.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// How often each id occurs: a multi-hot encoding.
///
///   ids      [..., L]      int64 or int32, each in [0, depth), or -1, which is left out
///   weights  [..., L]      none, or float32: they are added up instead of ones; no gradient flows into them
///   returns  [..., depth]  float32
///
/// Any other id ends the step with InvalidArgument, naming row and value.
Value multi_hot(Value ids, int64_t depth, Value weights = {}, std::string_view name = "");

struct CheckRangeOptions {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();  ///< At least `low`.
  bool whole = false;                                     ///< Whether only whole numbers are allowed.
  std::string what = "element";                           ///< What an element is called in the error.
  std::string remedy = {};                                ///< What to do about it; behind "; " in the error.
};
/// x itself, any numeric type and shape. An element outside [low, high], or NaN, ends the step with InvalidArgument, naming
/// row, value and what is allowed.
Value check_range(Value x, const CheckRangeOptions& options, std::string_view name = "");

struct BucketizeOptions {
  /// What is added to an id for each step along the last axis: with the number of intervals, each position has ids of its
  /// own.
  int64_t spacing = 0;
  int64_t missing_id = -1;  ///< The id of NaN, to which `spacing` adds too; -1 stays -1.
};
/// Which interval each number lies in: how many boundaries are at most as large as it. With boundaries b1 < ... < bn: 0
/// below b1, i in [bi, bi+1), n from bn on.
///
///   x           [...]  float32
///   boundaries  [n]    float32, ascending; n is a number
///   returns     [...]  int64
Value bucketize(Value x, Value boundaries, const BucketizeOptions& options = {}, std::string_view name = "");

/// One id for each combination of ids, one from each operand: hash64() (random.h) of these ids as 8 bytes each, the lowest
/// first, modulo `buckets`. A combination with a -1 is -1.
///
///   ids      two to 64 of [n..., L]    int64, equal but for L, which is a number
///   buckets  1 or more
///   returns  [n..., L1 * L2 * ...]     int64; ids of the last operand change fastest
Value cross_ids(const std::vector<Value>& ids, int64_t buckets, std::string_view name = "");

/// The same ids as int64, but `otherwise` for each that lies outside [0, depth); -1 stays -1.
///
///   ids        [...]  int64 or int32
///   otherwise  in [-1, depth)
Value default_ids(Value ids, int64_t depth, int64_t otherwise, std::string_view name = "");

}  // namespace shoal::ops
