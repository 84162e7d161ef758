// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The three products of a dense layer y [rows, out] = x [rows, in] w^T, of operands 0 and 1 of a node: those of dense layers, and
/// of matmul, where its operands are two matrices.
#include <cstdint>
#include <memory>

#include "shoal/backends/kernel.h"

namespace shoal::backends::portable {

/// x [rows, in], w [out, in], y [rows, out].
struct DenseSizes {
  int64_t rows, out, in;
};

/// y = x w^T, plus the bias that operand 2 is, if there is one; after that relu, if the node has it fused.
std::unique_ptr<Kernel> dense_product(const KernelRequest& request, const DenseSizes& sizes);
/// dx = dy w.
std::unique_ptr<Kernel> dense_input_product(const KernelRequest& request, const DenseSizes& sizes);
/// dw = dy^T x.
std::unique_ptr<Kernel> dense_kernel_product(const KernelRequest& request, const DenseSizes& sizes);

}  // namespace shoal::backends::portable
