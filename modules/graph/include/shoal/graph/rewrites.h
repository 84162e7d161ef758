// SPDX-License-Identifier: Apache-2.0
#pragma once
/// States what passes may do with the nodes of an op (passes.h). The default allows nothing. All rewrites keep every bit.
#include <span>
#include <string_view>

#include "shoal/graph/attributes.h"

namespace shoal {

struct Rewrites {
  // These members let a pass drop the op, or compute it in advance.

  /// Returns whether, with these attributes, output 0 equals input 0 bit for bit if both have the same type.
  bool (*changes_nothing)(const Attributes& attributes) = nullptr;
  /// True: applying the op to its own result changes nothing.
  bool idempotent = false;
  /// Computes the result for operands of one float32 element each, with a single rounding, as every backend does.
  float (*of_constants)(std::span<const float> operands, const Attributes& attributes) = nullptr;

  // These members let the op before this one do this op's work.

  /// The name of the activation that this op is. The producer of its operand may compute it too, if it takes this
  /// activation.
  std::string_view activation;
  /// The activation that this op may apply to output 0 before writing it, if its attribute "activation" says so ("none": it
  /// does not). Empty: the op has no such attribute.
  std::string_view takes_activation;
  /// True: if the operands have the same type, output 0 is their sum, so a producer with an `addend` may add the other
  /// operand too.
  bool addition = false;
  /// The input that is added to output 0 before the activation. It is optional and comes last. -1: none.
  int addend = -1;

  // These members let a gradient op undo a fused activation.

  /// True: output 0 is input 0 where input 1, the result of an activation, is above 0, and 0 elsewhere.
  bool mask = false;
  /// The input by which input 0 is masked before anything else. It is optional and comes last. -1: none.
  int masked_by = -1;

  // These members let passes exchange an activation and a pooling.

  /// True: output 0 has the largest elements of parts of input 0, and output 1 their positions.
  bool takes_maxima = false;
  /// True for the gradient of such an op: output 0 has the elements of input 0 at the positions in input 1, and 0
  /// elsewhere.
  bool spreads_to_maxima = false;
  /// True: the op may come after a takes_maxima op instead of before it, and its gradient, a `mask`, before the
  /// spreads_to_maxima op instead of after it. The values are the same, except for the sign of a zero.
  bool after_maxima = false;
};

}  // namespace shoal
