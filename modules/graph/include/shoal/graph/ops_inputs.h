// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ops for ids and labels that come from the input data. Included by ops.h, whose first comment applies here too.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// Counts how often each id occurs: a multi-hot encoding.
///
///   ids      [..., L]      int64 or int32, each in [0, depth), or -1, which is left out
///   weights  [..., L]      optional, float32: added up in place of ones; no gradient flows into them
///   returns  [..., depth]  float32
///
/// Any other id ends the step with InvalidArgument, naming row and value.
Value multi_hot(Value ids, int64_t depth, Value weights = {}, std::string_view name = "");

struct CheckRangeOptions {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();  ///< At least `low`.
  bool whole = false;                                     ///< True: only whole numbers are allowed.
  std::string what = "element";                           ///< What the error message calls an element.
  std::string remedy = {};                                ///< Advice that ends the error message, after "; ".
};
/// Returns x, of any numeric type and shape. An element outside of [low, high], or NaN, ends the step with
/// InvalidArgument, which names row, value and the allowed range.
Value check_range(Value x, const CheckRangeOptions& options, std::string_view name = "");

struct BucketizeOptions {
  /// The op adds spacing * p to the id at position p of the last axis. 0: all positions share their ids.
  int64_t spacing = 0;
  int64_t missing_id = -1;  ///< The id of NaN. If it is not -1, spacing * p is added to it as to other ids.
};
/// Returns the number of the interval in which each x lies, that is, how many boundaries are <= x. With boundaries b1 <
/// ... < bn, the result is 0 for x < b1, i for bi <= x < bi+1, and n for x >= bn.
///
///   x           [...]  float32
///   boundaries  [n]    float32, ascending; n is a number
///   returns     [...]  int64
Value bucketize(Value x, Value boundaries, const BucketizeOptions& options = {}, std::string_view name = "");

/// Makes one id for each combination of ids, one from each operand: hash64() (random.h) of these ids as 8 bytes each, the
/// lowest byte first, modulo `buckets`. A combination that contains -1 gives -1.
///
///   ids      two to 64 values of shape [n..., L]    int64, equal except in L, which is a number
///   buckets  at least 1
///   returns  [n..., L1 * L2 * ...]     int64; ids of the last operand change fastest
Value cross_ids(const std::vector<Value>& ids, int64_t buckets, std::string_view name = "");

struct DefaultIdsOptions {
  int64_t depth = 0;       ///< At least 1. There is no default.
  int64_t otherwise = -1;  ///< In [-1, depth).
  /// True: -1 stays, as the padding of a list of ids. False: it is an id like others, outside of [0, depth).
  bool keeps_padding = true;
};
/// The ids as int64, with `otherwise` in place of each id outside of [0, depth).
///
///   ids  [...]  int64 or int32
Value default_ids(Value ids, const DefaultIdsOptions& options, std::string_view name = "");

}  // namespace shoal::ops
