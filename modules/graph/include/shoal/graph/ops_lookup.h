// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ops that look up elements by position, or return positions. Included by ops.h, whose first comment applies here too.
#include <cstdint>
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// Picks slices of x along one axis, by index.
///
///   x        [a..., K, b...]  any type
///   indices  [i...]           int64 or int32, each in [0, K)
///   axis     the axis of size K; a number below 0 counts from the end
///   returns  [a..., i..., b...]
///
/// An index out of range ends the step with InvalidArgument, which names row and value. If an index occurs several times,
/// the gradient for x is the sum of the gradients of these slices, added in their order.
Value gather(Value x, Value indices, int axis = 0, std::string_view name = "");

/// Picks rows of a table: gather along its first axis.
///
///   table    [K, d...]     float32
///   ids      [i...]        int64 or int32, each in [0, K)
///   returns  [i..., d...]  float32
///
/// If the loss depends on a variable only through lookups, the variable gets sparse updates: a step costs only the rows
/// that its batch uses (see nn::RowUpdate).
Value embedding_lookup(Value table, Value ids, std::string_view name = "");

/// How the rows of one list of ids are combined into one row.
enum class Combiner : uint8_t {
  kSum = 0,
  kMean = 1,   ///< The sum divided by the sum of the weights.
  kSqrtN = 2,  ///< The sum divided by the root of the sum of the squares of the weights.
};
struct EmbeddingBagOptions {
  Combiner combiner = Combiner::kMean;
  /// Float32 with the shape of the ids: a factor for each row. Default: 1. No gradient flows into the weights. With kMean
  /// and kSqrtN, a row whose weight is not above 0 is left out.
  Value weights = {};
};
/// For each list of ids, looks up the rows of a table and combines them into one row. Ids of -1 are left out; a list
/// without other ids gives a row of zeros. The table gets sparse updates as with embedding_lookup().
///
///   table    [K, D]       float32
///   ids      [n..., L]    int64 or int32, each in [0, K), or -1; L is a number
///   returns  [n..., D]    float32
///
/// Any other id ends the step with InvalidArgument, which names row and value.
Value embedding_bag(Value table, Value ids, const EmbeddingBagOptions& options = {}, std::string_view name = "");

struct OneHotOptions {
  int64_t depth = 0;     ///< The number of classes, at least 1. Must be set.
  double on_value = 1;   ///< The value at the position of the index.
  double off_value = 0;  ///< The value at all other positions.
};
/// [i...] int64 or int32 to [i..., depth] float32. An index outside of [0, depth) ends the step with InvalidArgument, which
/// names row and value.
Value one_hot(Value indices, const OneHotOptions& options, std::string_view name = "");

struct TopK {
  Value values;   ///< [..., k] float32, largest first.
  Value indices;  ///< [..., k] int64, the positions of the values; of equal elements the first comes first.
};
/// The k largest elements along the last axis of x, which is float32 [..., C]. The size C must be a number, not a symbol,
/// and 1 <= k <= C. NaN counts as the largest. The gradient goes to the chosen elements.
TopK top_k(Value x, int64_t k, std::string_view name = "");

}  // namespace shoal::ops
