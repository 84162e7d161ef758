// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The rewrites that passes may apply to an op (passes.h). Default: none. No rewrite changes a bit of a result, except that
/// `after_maxima` can change the sign of a zero.
#include <span>
#include <string_view>

#include "shoal/graph/attributes.h"

namespace shoal {

struct Rewrites {
  // These members let a pass drop the op, or compute it in advance.

  /// Returns whether, with these attributes, output 0 equals input 0 bit for bit if both have the same type.
  bool (*changes_nothing)(const Attributes& attributes) = nullptr;
  /// True: applying the op twice gives the same result as applying it once.
  bool idempotent = false;
  /// Computes the result for operands of one float32 element each, with a single rounding, as every backend does.
  float (*of_constants)(std::span<const float> operands, const Attributes& attributes) = nullptr;

  // These members let the preceding op do the work of this op, too.

  /// The activation function that this op computes, such as "relu"; empty: none. A pass may let the node that produces this
  /// op's operand compute the function instead, if the `takes_activation` of that node's op names the same function.
  std::string_view activation;
  /// The activation that this op applies to output 0 if its attribute "activation" names it; with "none" the op applies no
  /// activation. Empty: the op has no such attribute.
  std::string_view takes_activation;
  /// True: output 0 is the sum of the two operands if they have the same type. The node that produces one of the operands
  /// may do this addition instead, if its op has an `addend`.
  bool addition = false;
  /// The index of the optional last input, which this op adds to output 0 before the activation. -1: the op has none.
  int addend = -1;

  // These members let a gradient op undo a fused activation.

  /// True: output 0 is input 0 where input 1, the result of an activation, is above 0, and 0 elsewhere.
  bool mask = false;
  /// The index of an optional last input. If it is present, the op uses input 0 only where this last input is above 0, and
  /// 0 elsewhere (as an op with `mask` computes it). -1: the op has no such input.
  int masked_by = -1;

  // These members let passes exchange the order of an activation and a pooling.

  /// True for a max pooling: output 0 has the largest element of each window of input 0, output 1 has their positions.
  bool takes_maxima = false;
  /// True for the gradient of a max pooling: output 0 has the elements of input 0 at the positions in input 1, and 0
  /// elsewhere.
  bool spreads_to_maxima = false;
  /// True: passes may move this op from before a max pooling (takes_maxima) to behind it. Likewise they may move this op's
  /// gradient, an op with `mask`, from behind the pooling's gradient (spreads_to_maxima) to before it. The values stay the
  /// same, except for the sign of a zero.
  bool after_maxima = false;
};

}  // namespace shoal
