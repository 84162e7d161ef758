// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ops that look elements up by position, or give positions. Included by ops.h, whose first comment holds here too.
#include <cstdint>
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// Slices of x along one axis, by index.
///
///   x        [a..., K, b...]  any type
///   indices  [i...]           int64 or int32, each in [0, K)
///   axis     of K; below 0 counts from the end
///   returns  [a..., i..., b...]
///
/// An index out of range ends the step with InvalidArgument, naming row and value. The gradient for x adds up the slices of
/// equal indices in their order.
Value gather(Value x, Value indices, int axis = 0, std::string_view name = "");

/// Rows of a table: gather along its first axis.
///
///   table    [K, d...]     float32
///   ids      [i...]        int64 or int32, each in [0, K)
///   returns  [i..., d...]  float32
///
/// A variable that the loss depends on through lookups only gets sparse updates: a step costs the rows that its batch
/// touches (see nn::RowUpdate).
Value embedding_lookup(Value table, Value ids, std::string_view name = "");

/// How the rows of one list of ids become one row.
enum class Combiner : uint8_t {
  kSum = 0,
  kMean = 1,   ///< The sum divided by the sum of the weights.
  kSqrtN = 2,  ///< The sum divided by the root of the sum of the squares of the weights.
};
struct EmbeddingBagOptions {
  Combiner combiner = Combiner::kMean;
  /// Float32 of the shape of the ids: what each row is multiplied with. None: 1. No gradient flows into them. Where rows
  /// are divided, one that is not above 0 leaves its row out.
  Value weights = {};
};
/// Rows of a table, those of each list of ids combined into one. An id of -1 is left out; where none is left, the result is
/// 0. The table gets sparse updates as with embedding_lookup(), for its rows named by other ids than -1.
///
///   table    [K, D]       float32
///   ids      [n..., L]    int64 or int32, each in [0, K), or -1; L is a number
///   returns  [n..., D]    float32
///
/// Any other id ends the step with InvalidArgument, naming row and value.
Value embedding_bag(Value table, Value ids, const EmbeddingBagOptions& options = {}, std::string_view name = "");

struct OneHotOptions {
  int64_t depth = 0;     ///< A number >= 1. It has no default.
  double on_value = 1;   ///< The value where the index is.
  double off_value = 0;  ///< The value elsewhere.
};
/// [i...] int64 or int32 to [i..., depth] float32. An index outside [0, depth) ends the step with InvalidArgument, naming
/// row and value.
Value one_hot(Value indices, const OneHotOptions& options, std::string_view name = "");

struct TopK {
  Value values;   ///< [..., k] float32, largest first.
  Value indices;  ///< [..., k] int64, their positions; of equal elements the first comes first.
};
/// The k largest elements along the last axis: x [..., C] float32, 1 <= k <= C, C a number. NaN counts as the largest. The
/// gradient goes to the chosen elements.
TopK top_k(Value x, int64_t k, std::string_view name = "");

}  // namespace shoal::ops
