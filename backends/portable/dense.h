// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The three products of a dense layer y [rows, out] = x [rows, in] w^T: y itself, and the gradients of x and w. The
/// factors are operands 0 and 1 of a node. Dense layers use these products, and so does matmul of two matrices.
#include <cstdint>
#include <memory>

#include "shoal/backends/kernel.h"

namespace shoal::backends::portable {

/// The sizes of x [rows, in], w [out, in] and y [rows, out].
struct DenseSizes {
  int64_t rows, out, in;
};

/// y = x w^T, plus the bias in operand 2, if there is one; then relu, if it is fused into the node.
std::unique_ptr<Kernel> dense_product(const KernelRequest& request, const DenseSizes& sizes);
/// dx = dy w.
std::unique_ptr<Kernel> dense_input_product(const KernelRequest& request, const DenseSizes& sizes);
/// dw = dy^T x.
std::unique_ptr<Kernel> dense_kernel_product(const KernelRequest& request, const DenseSizes& sizes);

}  // namespace shoal::backends::portable
