// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Emulates bfloat16 products with kernels that know float32 only.
#include <memory>

#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// Runs `kernel` on copies of its inputs 0 and 1 (float32) whose elements are rounded to bfloat16. Each product is exact in
/// float32, and `kernel` adds in float32, like a processor that multiplies bfloat16 and accumulates in float32.
std::unique_ptr<Kernel> round_operands(std::unique_ptr<Kernel> kernel, const KernelRequest& request);

/// True if the node's op is a product (OpDef::product) of float32 operands.
bool is_float_product(const KernelRequest& request);

}  // namespace shoal::backends
