// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What passes may do with the nodes of an op (passes.h): nothing, unless its definition says so. All of it keeps bits.
#include <span>
#include <string_view>

#include "shoal/graph/attributes.h"

namespace shoal {

struct Rewrites {
  // These let a pass drop the op, or compute it beforehand.

  /// Whether output 0 is input 0, bit for bit, where they are of one type and these are the attributes.
  bool (*changes_nothing)(const Attributes& attributes) = nullptr;
  /// True: applied to its own result it gives that.
  bool idempotent = false;
  /// The result for operands of one float32 element each, rounded as every backend does it: once.
  float (*of_constants)(std::span<const float> operands, const Attributes& attributes) = nullptr;

  // These let an op before it do its work.

  /// It is this activation: the producer of its operand computes it too where that is what it takes.
  std::string_view activation;
  /// What output 0 may go through before it is written: the attribute "activation" says whether it does ("none": it does
  /// not). Empty: there is no such attribute.
  std::string_view takes_activation;
  /// Where its operands are of one type, output 0 is their sum: a producer with an `addend` adds the other one too.
  bool addition = false;
  /// The input, its last and one that may be left out, that is added to output 0 before the activation; -1: none.
  int addend = -1;

  // These undo that in a gradient.

  /// Output 0 is input 0 where input 1, the result of an activation, is above 0; elsewhere 0.
  bool mask = false;
  /// The input, its last and one that may be left out, by which input 0 is masked before anything else; -1: none.
  int masked_by = -1;

  // These exchange an activation with a pooling.

  /// Output 0 has the largest elements of parts of input 0, output 1 their places.
  bool takes_maxima = false;
  /// The gradient of that: output 0 has the elements of input 0 at the places in input 1, and 0 elsewhere.
  bool spreads_to_maxima = false;
  /// It may as well come after what takes_maxima, and its gradient, a `mask`, before what spreads: the values are the same,
  /// but for the sign of a zero.
  bool after_maxima = false;
};

}  // namespace shoal
