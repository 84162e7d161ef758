// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The three products of a dense layer y [rows, out] = x [rows, in] w^T, of operands 0 and 1 of a node: those of dense layers, and
/// of matmul, where its operands are two matrices.
#include <memory>

#include "few_rows.h"
#include "shoal/backends/kernel.h"

namespace shoal::backends::portable {

/// y = x w^T, plus the bias that operand 2 is, if there is one; after that relu, if the node has it fused.
std::unique_ptr<Kernel> dense_product(const KernelRequest& request, const FewRows& sizes);
/// dx = dy w.
std::unique_ptr<Kernel> dense_input_product(const KernelRequest& request, const FewRows& sizes);
/// dw = dy^T x.
std::unique_ptr<Kernel> dense_kernel_product(const KernelRequest& request, const FewRows& sizes);

}  // namespace shoal::backends::portable
