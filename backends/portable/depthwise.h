// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels for convolutions with one filter for each channel (Convolution::is_depthwise()). Each kernel has the
/// inputs and outputs of its op.
#include <memory>

#include "convolution.h"
#include "shoal/backends/kernel.h"

namespace shoal::backends::portable {

std::unique_ptr<Kernel> make_depthwise(int threads, const Convolution& convolution, bool biased, bool relu);
std::unique_ptr<Kernel> make_depthwise_grad_input(int threads, const Convolution& convolution, bool biased);
std::unique_ptr<Kernel> make_depthwise_grad_kernel(int threads, const Convolution& convolution);

}  // namespace shoal::backends::portable
