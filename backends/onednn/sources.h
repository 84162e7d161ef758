// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The functions that make kernels, one per op family. Each returns null for a node that it does not support.
#include <memory>

#include "primitive.h"
#include "requests.h"

namespace shoal::backends::onednn {

using KernelMaker = std::unique_ptr<Kernel> (*)(const Context& context, const KernelRequest& request);

// Defined in dense.cc:
std::unique_ptr<Kernel> make_dense(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_dense_grad_input(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_dense_grad_kernel(const Context& context, const KernelRequest& request);
// Defined in conv.cc:
std::unique_ptr<Kernel> make_conv2d(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_conv2d_grad_input(const Context& context, const KernelRequest& request);
// Defined in conv_grad_kernel.cc:
std::unique_ptr<Kernel> make_conv2d_grad_kernel(const Context& context, const KernelRequest& request);
// Defined in matmul.cc:
std::unique_ptr<Kernel> make_matmul(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_matmul_sum(const Context& context, const KernelRequest& request);

}  // namespace shoal::backends::onednn
