// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a node costs by its shapes alone: the least that any kernel for it has to do, so that times can be compared with
/// what a machine can do at most.
#include <span>

#include "shoal/base/tensor.h"
#include "shoal/graph/op.h"

namespace shoal {

struct NodeCost {
  /// Floating-point operations. Of ops that say how many multiply-adds they take (OpDef::multiply_adds: dense,
  /// convolutions, matmul, recurrences, attention) two for each; of all others one for each element of the largest operand
  /// or result, whatever the function.
  double flops = 0;
  /// What is read (operands that the op looks at; of a table that is looked up, as much as comes out) and written.
  double bytes = 0;
};

/// The cost of one node with these attributes, all sizes known; data are not looked at. An operand without elements
/// costs nothing, a view neither.
NodeCost cost_of(const OpDef& op, const Attributes& attributes, std::span<const TensorView> inputs,
                 std::span<const TensorView> outputs);

}  // namespace shoal
