#pragma once
/// Ops for ids and labels as they come in. Included by ops.h, whose first comment holds here too.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

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
};
/// x itself, any numeric type and shape. An element outside [low, high], or NaN, ends the step with InvalidArgument, naming
/// row, value and what is allowed.
Value check_range(Value x, const CheckRangeOptions& options, std::string_view name = "");

}  // namespace shoal::ops
