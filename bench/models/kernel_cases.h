// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What kernels_bench runs: every op of the catalogue but views, at sizes that occur. From each model of bench/models
/// comes, for each op of its training step, the node that costs most; what no model has follows from a table of forward
/// ops.
#include <string>
#include <vector>

#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"

namespace shoal::bench {

struct KernelCase {
  struct Operand {
    DType dtype = DType::kFloat32;
    Shape shape;
    bool is_variable = false;  ///< Backends keep what they derive from a variable.
  };
  std::string op;
  std::string from;  ///< The model, or "table".
  Attributes attributes;
  std::vector<Operand> operands;

  std::string name() const { return op + "/" + from; }
};

std::vector<KernelCase> kernel_cases();
/// Names of the catalogue that have no case: none, if all is well.
std::vector<std::string> ops_without_case(const std::vector<KernelCase>& cases);
/// Adds its node, with inputs and variables named "operand0", "operand1", ...; gives the first output.
std::vector<Value> add_case(Graph& graph, const KernelCase& kernel_case);
/// Operand `index` with numbers that the op takes: floats in [0.25, 1), indices in range, lengths that are whole.
Tensor operand_data(const KernelCase& kernel_case, size_t index);

}  // namespace shoal::bench
