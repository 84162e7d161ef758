// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Products in bfloat16 out of kernels that know float32 only: the emulation.
#include <memory>

#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// Runs `kernel` on copies of its inputs 0 and 1 (float32) whose elements are rounded to bfloat16. Its products are exact
/// in float32, and its sums are its own: what a processor computes that multiplies bfloat16 and adds up in float32.
std::unique_ptr<Kernel> round_operands(std::unique_ptr<Kernel> kernel, const KernelRequest& request);

/// The node's op is a product of float32 (OpDef::product).
bool is_float_product(const KernelRequest& request);

}  // namespace shoal::backends
