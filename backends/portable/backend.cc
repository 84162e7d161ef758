// SPDX-License-Identifier: Apache-2.0
// The backend "portable": Shoal's own loops, on a team of threads. Nodes that it does not support fall back to the
// reference, op by op.
#include <map>
#include <string>
#include <utility>

#include "product_code.h"
#include "shoal/backends/backend.h"
#include "shoal/backends/kernel.h"
#include "shoal/backends/portable.h"
#include "shoal/backends/reference.h"
#include "shoal/base/forever.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends {
namespace portable {
namespace {

const std::map<std::string, KernelMaker, std::less<>>& makers() {
  static const auto& table = forever(std::map<std::string, KernelMaker, std::less<>>{
      {"dense", &make_dense},
      {"dense_grad_input", &make_dense_grad_input},
      {"dense_grad_kernel", &make_dense_grad_kernel},
      {"conv2d", &make_conv2d},
      {"conv2d_grad_input", &make_conv2d_grad_input},
      {"conv2d_grad_kernel", &make_conv2d_grad_kernel},
      {"conv2d_transpose", &make_conv2d_grad_input},
      {"matmul", &make_matmul},
      {"matmul_sum", &make_matmul_sum},
      {"max_pool", &make_max_pool},
      {"max_pool_grad", &make_max_pool_grad},
      {"avg_pool", &make_avg_pool},
      {"avg_pool_grad", &make_avg_pool_grad},
      {"relu", &make_unary},
      {"scale", &make_unary},
      {"square", &make_unary},
      {"add", &make_binary},
      {"sub", &make_binary},
      {"mul", &make_binary},
      {"div", &make_binary},
      {"maximum", &make_binary},
      {"minimum", &make_binary},
      {"maximum_grad", &make_binary},
      {"pow", &make_binary},
      {"pow_base_grad", &make_binary},
      {"pow_exponent_grad", &make_binary},
      {"equal", &make_binary},
      {"not_equal", &make_binary},
      {"less", &make_binary},
      {"less_equal", &make_binary},
      {"greater", &make_binary},
      {"greater_equal", &make_binary},
      {"relu_grad", &make_binary},
      {"sigmoid_cross_entropy", &make_binary},
      {"sigmoid_cross_entropy_grad", &make_binary},
      {"select", &make_select},
      {"exp", &make_function},
      {"log", &make_function},
      {"sqrt", &make_function},
      {"rsqrt", &make_function},
      {"reciprocal", &make_function},
      {"abs", &make_function},
      {"erf", &make_function},
      {"sigmoid", &make_function},
      {"tanh", &make_function},
      {"softplus", &make_function},
      {"leaky_relu", &make_function},
      {"elu", &make_function},
      {"gelu", &make_function},
      {"gelu_tanh", &make_function},
      {"silu", &make_function},
      {"abs_grad", &make_slope},
      {"sigmoid_grad", &make_slope},
      {"tanh_grad", &make_slope},
      {"softplus_grad", &make_slope},
      {"leaky_relu_grad", &make_slope},
      {"elu_grad", &make_slope},
      {"gelu_grad", &make_slope},
      {"gelu_tanh_grad", &make_slope},
      {"silu_grad", &make_slope},
      {"fill_like", &make_fill},
      {"broadcast_like", &make_repeat},
      {"mean_grad", &make_repeat},
      {"cast", &make_cast},
      {"dropout", &make_dropout},
      {"bias_grad", &make_bias_grad},
      {"reduce_sum", &make_reduce},
      {"reduce_mean", &make_reduce},
      {"reduce_max", &make_reduce},
      {"sum_like", &make_sum_like},
      {"argmax", &make_argmax},
      {"batch_norm", &make_batch_norm},
      {"batch_norm_grad", &make_batch_norm_grad},
      {"batch_norm_inference", &make_batch_norm_inference},
      {"batch_norm_inference_grad", &make_batch_norm_grad},
      {"group_norm", &make_group_norm},
      {"group_norm_grad", &make_group_norm_grad},
      {"layer_norm", &make_layer_norm},
      {"layer_norm_grad", &make_layer_norm_grad},
      {"clip", &make_clip},
      {"clip_grad", &make_clip},
      {"global_norm", &make_global_norm},
      {"softmax", &make_softmax},
      {"log_softmax", &make_softmax},
      {"softmax_grad", &make_softmax_grad},
      {"log_softmax_grad", &make_softmax_grad},
      {"softmax_cross_entropy", &make_cross_entropy},
      {"softmax_cross_entropy_grad", &make_cross_entropy_grad},
      {"lstm", &make_lstm},
      {"lstm_grad", &make_lstm_grad},
      {"gru", &make_gru},
      {"gru_grad", &make_gru_grad},
      {"recurrent_grad_kernel", &make_recurrent_grad_kernel},
      {"attention", &make_attention},
      {"attention_grad", &make_attention_grad},
      {"self_attention", &make_attention},
      {"self_attention_grad", &make_attention_grad},
      {"transpose", &make_transpose},
      {"concat", &make_concat},
      {"split", &make_split},
      {"slice", &make_slice},
      {"slice_grad", &make_slice_grad},
      {"pad", &make_pad},
      {"gather", &make_gather},
      {"gather_grad", &make_gather_grad},
      {"one_hot", &make_one_hot},
      {"top_k", &make_top_k},
      {"top_k_grad", &make_top_k_grad},
  });
  return table;
}

class Source final : public KernelSource {
 public:
  Result<std::unique_ptr<Kernel>> make_kernel(const KernelRequest& request) override {
    const auto maker = makers().find(request.node.op);
    if (maker == makers().end()) return nullptr;
    return maker->second(request);
  }
};

class PortableBackend final : public Backend {
 public:
  std::string_view name() const override { return "portable"; }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, CompileOptions options) override {
    SHOAL_TRY_VOID(check_compute_dtype(options.compute_dtype));
    const ExecutorOptions executor{.sources = {&portable_source(), &reference_source()},
                                   .numerics = numerics(options.threads),
                                   .parallel = &detail::parallel_ranges,
                                   .worth = &worth_threads};
    return compile_with(graph, std::move(options), executor);
  }

  /// The rules in docs/arithmetic.md determine all bits of the results, for any instruction set and number of threads. The
  /// member `version` below says which version of these rules applies.
  Numerics numerics(int threads) const override {
    return {.backend = "portable", .version = "3", .isa = "", .threads = threads, .denormals = Denormals::kKept};
  }
  KernelSource* kernel_source() override { return &portable_source(); }
  /// bfloat16 is emulated: operands are rounded, and the float32 kernels compute the products.
  Result<void> check_compute_dtype(DType dtype) const override {
    return dtype == DType::kBFloat16 ? Result<void>() : Backend::check_compute_dtype(dtype);
  }
};

}  // namespace
}  // namespace portable

std::string_view portable_loops() { return portable::product_code().name; }

KernelSource& portable_source() {
  static auto& source = forever(portable::Source{});
  return source;
}

std::unique_ptr<Backend> make_portable_backend() { return std::make_unique<portable::PortableBackend>(); }

}  // namespace shoal::backends
