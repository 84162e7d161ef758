// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The functions that make kernels, one per op family. Each returns null for a node that it does not support.
#include <memory>
#include <string>
#include <utility>

#include "loops.h"
#include "passes.h"
#include "requests.h"
#include "shoal/backends/kernel.h"

namespace shoal::backends::portable {

using KernelMaker = std::unique_ptr<Kernel> (*)(const KernelRequest& request);

// Defined in dense.cc:
std::unique_ptr<Kernel> make_dense(const KernelRequest& request);
std::unique_ptr<Kernel> make_dense_grad_input(const KernelRequest& request);
std::unique_ptr<Kernel> make_dense_grad_kernel(const KernelRequest& request);
// Defined in pool.cc:
std::unique_ptr<Kernel> make_max_pool(const KernelRequest& request);
std::unique_ptr<Kernel> make_max_pool_grad(const KernelRequest& request);
std::unique_ptr<Kernel> make_avg_pool(const KernelRequest& request);
std::unique_ptr<Kernel> make_avg_pool_grad(const KernelRequest& request);
// Defined in elementwise.cc:
std::unique_ptr<Kernel> make_unary(const KernelRequest& request);
std::unique_ptr<Kernel> make_fill(const KernelRequest& request);
std::unique_ptr<Kernel> make_cast(const KernelRequest& request);
// Defined in binary.cc:
std::unique_ptr<Kernel> make_binary(const KernelRequest& request);
std::unique_ptr<Kernel> make_select(const KernelRequest& request);
std::unique_ptr<Kernel> make_repeat(const KernelRequest& request);
// Defined in unary.cc:
std::unique_ptr<Kernel> make_function(const KernelRequest& request);
std::unique_ptr<Kernel> make_slope(const KernelRequest& request);
// Defined in dropout.cc:
std::unique_ptr<Kernel> make_dropout(const KernelRequest& request);
// Defined in reduce.cc:
std::unique_ptr<Kernel> make_bias_grad(const KernelRequest& request);
std::unique_ptr<Kernel> make_reduce(const KernelRequest& request);
std::unique_ptr<Kernel> make_sum_like(const KernelRequest& request);
std::unique_ptr<Kernel> make_argmax(const KernelRequest& request);
// Defined in norm.cc:
std::unique_ptr<Kernel> make_batch_norm(const KernelRequest& request);
std::unique_ptr<Kernel> make_batch_norm_inference(const KernelRequest& request);
std::unique_ptr<Kernel> make_batch_norm_grad(const KernelRequest& request);
std::unique_ptr<Kernel> make_group_norm(const KernelRequest& request);
std::unique_ptr<Kernel> make_group_norm_grad(const KernelRequest& request);
// Defined in layer_norm.cc:
std::unique_ptr<Kernel> make_layer_norm(const KernelRequest& request);
std::unique_ptr<Kernel> make_layer_norm_grad(const KernelRequest& request);
// Defined in clipping.cc:
std::unique_ptr<Kernel> make_clip(const KernelRequest& request);
std::unique_ptr<Kernel> make_global_norm(const KernelRequest& request);
// Defined in softmax.cc:
std::unique_ptr<Kernel> make_softmax(const KernelRequest& request);
std::unique_ptr<Kernel> make_softmax_grad(const KernelRequest& request);
std::unique_ptr<Kernel> make_cross_entropy(const KernelRequest& request);
std::unique_ptr<Kernel> make_cross_entropy_grad(const KernelRequest& request);
// Defined in recurrent.cc:
std::unique_ptr<Kernel> make_lstm(const KernelRequest& request);
std::unique_ptr<Kernel> make_lstm_grad(const KernelRequest& request);
std::unique_ptr<Kernel> make_gru(const KernelRequest& request);
std::unique_ptr<Kernel> make_gru_grad(const KernelRequest& request);
std::unique_ptr<Kernel> make_recurrent_grad_kernel(const KernelRequest& request);
// Defined in attention.cc:
std::unique_ptr<Kernel> make_attention(const KernelRequest& request);
std::unique_ptr<Kernel> make_attention_grad(const KernelRequest& request);
// Defined in arrange.cc:
std::unique_ptr<Kernel> make_transpose(const KernelRequest& request);
std::unique_ptr<Kernel> make_concat(const KernelRequest& request);
std::unique_ptr<Kernel> make_split(const KernelRequest& request);
std::unique_ptr<Kernel> make_slice(const KernelRequest& request);
std::unique_ptr<Kernel> make_slice_grad(const KernelRequest& request);
std::unique_ptr<Kernel> make_pad(const KernelRequest& request);
// Defined in lookup.cc:
std::unique_ptr<Kernel> make_gather(const KernelRequest& request);
std::unique_ptr<Kernel> make_gather_grad(const KernelRequest& request);
std::unique_ptr<Kernel> make_one_hot(const KernelRequest& request);
std::unique_ptr<Kernel> make_top_k(const KernelRequest& request);
std::unique_ptr<Kernel> make_top_k_grad(const KernelRequest& request);

// Defined in matmul.cc:
std::unique_ptr<Kernel> make_matmul(const KernelRequest& request);
std::unique_ptr<Kernel> make_matmul_sum(const KernelRequest& request);
// Defined in conv.cc:
std::unique_ptr<Kernel> make_conv2d(const KernelRequest& request);
std::unique_ptr<Kernel> make_conv2d_grad_input(const KernelRequest& request);
// Defined in conv_grad_kernel.cc:
std::unique_ptr<Kernel> make_conv2d_grad_kernel(const KernelRequest& request);

/// A kernel that consists of one function. `Run` is callable as Result<void>(const KernelCall&).
template <class Run>
class LoopKernel final : public Kernel {
 public:
  LoopKernel(Run run, size_t scratch_bytes) : run_(std::move(run)), scratch_bytes_(scratch_bytes) {}
  Result<void> run(const KernelCall& call) override { return run_(call); }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  std::string implementation() const override { return "portable: loop"; }

 private:
  Run run_;
  size_t scratch_bytes_;
};

template <class Run>
std::unique_ptr<Kernel> make_loop(Run run, size_t scratch_bytes = 0) {
  return std::make_unique<LoopKernel<Run>>(std::move(run), scratch_bytes);
}

}  // namespace shoal::backends::portable
