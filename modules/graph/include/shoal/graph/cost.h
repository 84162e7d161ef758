// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes the least work that any kernel for a node has to do, from the shapes alone. Profiles compare measured times
/// with the time that the machine would need for this work at its peak.
#include <span>

#include "shoal/base/tensor.h"
#include "shoal/graph/op.h"

namespace shoal {

struct NodeCost {
  /// Floating-point operations. An op that states its multiply-adds (OpDef::multiply_adds: dense, convolutions, matmul,
  /// recurrences, attention) counts two operations for each. Any other op counts one operation per element of its
  /// largest operand or result, whatever it computes.
  double flops = 0;
  /// Bytes read and written. An operand of which only the shape is used is not read. A lookup reads only as many bytes
  /// of its table as the result has.
  double bytes = 0;
};

/// The cost of one node with these attributes. Uses only the sizes of inputs and outputs, not their data. A view costs
/// nothing, and an operand without elements adds nothing to the cost.
NodeCost cost_of(const OpDef& op, const Attributes& attributes, std::span<const TensorView> inputs,
                 std::span<const TensorView> outputs);

}  // namespace shoal
