// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The makers of kernels, one per op family; each returns null where it does not take the node.
#include <memory>

#include "loops.h"
#include "primitive.h"

namespace shoal::backends::onednn {

using KernelMaker = std::unique_ptr<Kernel> (*)(const Context& context, const KernelRequest& request);

// dense.cc
std::unique_ptr<Kernel> make_dense(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_dense_grad_input(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_dense_grad_kernel(const Context& context, const KernelRequest& request);
// conv.cc
std::unique_ptr<Kernel> make_conv2d(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_conv2d_grad_input(const Context& context, const KernelRequest& request);
// conv_grad_kernel.cc
std::unique_ptr<Kernel> make_conv2d_grad_kernel(const Context& context, const KernelRequest& request);
// pool.cc
std::unique_ptr<Kernel> make_max_pool(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_max_pool_grad(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_avg_pool(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_avg_pool_grad(const Context& context, const KernelRequest& request);
// elementwise.cc
std::unique_ptr<Kernel> make_unary(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_fill(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_cast(const Context& context, const KernelRequest& request);
// binary.cc
std::unique_ptr<Kernel> make_binary(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_select(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_repeat(const Context& context, const KernelRequest& request);
// unary.cc
std::unique_ptr<Kernel> make_function(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_slope(const Context& context, const KernelRequest& request);
// dropout.cc
std::unique_ptr<Kernel> make_dropout(const Context& context, const KernelRequest& request);
// reduce.cc
std::unique_ptr<Kernel> make_bias_grad(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_reduce(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_sum_like(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_argmax(const Context& context, const KernelRequest& request);
// norm.cc
std::unique_ptr<Kernel> make_batch_norm(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_batch_norm_inference(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_batch_norm_grad(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_group_norm(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_group_norm_grad(const Context& context, const KernelRequest& request);
// layer_norm.cc
std::unique_ptr<Kernel> make_layer_norm(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_layer_norm_grad(const Context& context, const KernelRequest& request);
// clipping.cc
std::unique_ptr<Kernel> make_clip(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_global_norm(const Context& context, const KernelRequest& request);
// softmax.cc
std::unique_ptr<Kernel> make_softmax(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_softmax_grad(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_cross_entropy(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_cross_entropy_grad(const Context& context, const KernelRequest& request);
// recurrent.cc
std::unique_ptr<Kernel> make_lstm(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_lstm_grad(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_gru(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_gru_grad(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_recurrent_grad_kernel(const Context& context, const KernelRequest& request);
// attention.cc
std::unique_ptr<Kernel> make_attention(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_attention_grad(const Context& context, const KernelRequest& request);

// arrange.cc
std::unique_ptr<Kernel> make_transpose(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_concat(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_split(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_slice(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_slice_grad(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_pad(const Context& context, const KernelRequest& request);
// lookup.cc
std::unique_ptr<Kernel> make_gather(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_gather_grad(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_one_hot(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_top_k(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_top_k_grad(const Context& context, const KernelRequest& request);
// matmul.cc
std::unique_ptr<Kernel> make_matmul(const Context& context, const KernelRequest& request);
std::unique_ptr<Kernel> make_matmul_sum(const Context& context, const KernelRequest& request);

/// A kernel that is one loop of ours. `Run` is callable as Result<void>(const KernelCall&).
template <class Run>
class LoopKernel final : public Kernel {
 public:
  LoopKernel(Run run, size_t scratch_bytes) : run_(std::move(run)), scratch_bytes_(scratch_bytes) {}
  Result<void> run(const KernelCall& call) override { return run_(call); }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  std::string implementation() const override { return "onednn: loop"; }

 private:
  Run run_;
  size_t scratch_bytes_;
};

template <class Run>
std::unique_ptr<Kernel> make_loop(Run run, size_t scratch_bytes = 0) {
  return std::make_unique<LoopKernel<Run>>(std::move(run), scratch_bytes);
}

inline const float* floats(const TensorView& view) { return reinterpret_cast<const float*>(view.data); }
inline float* floats(const MutableTensorView& view) { return reinterpret_cast<float*>(view.data); }

/// The node's attribute "activation" is "relu".
bool fused_relu(const KernelRequest& request);
/// All inputs and outputs are float32.
bool all_float32(const KernelRequest& request);
/// No dimension of any operand is zero: empty batches are the reference's.
bool none_empty(const KernelRequest& request);

}  // namespace shoal::backends::onednn
