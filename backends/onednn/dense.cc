// SPDX-License-Identifier: Apache-2.0
// Dense layers by matmul on plain weights [out, in]. Strides describe transposes, so weights, messages and the optimizer
// use one layout and nothing is reordered (inner_product with its own layout gains at most 15% and loses 20 to 50% by
// reorders). Few rows, small batches, and some gradients of weights are left to the loops of backends/portable, which are
// faster there.
#include <algorithm>

#include "matrix_product.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::onednn {
namespace {

/// oneDNN (2.6 and 3.7) prefers its brgemm kernels even where its gemm is faster: in large products whose second factor
/// is not transposed. For [1024, 128] [128, 3136] gemm took 0.83 of brgemm's time, for [128, 1024] [1024, 3136]
/// 0.91, on one thread and on two (AVX-512); for transposed factors brgemm is faster.
bool gemm_is_faster(const Context& context, const Matrices& a, const Matrices& b) {
  constexpr int64_t kLarge = int64_t(1) << 26, kWide = 128;  // Large: this many multiplications. Wide: this many columns.
  return context.factors == kFloat && !b.transposed && b.columns >= kWide && a.rows * a.columns >= kLarge / b.columns;
}

/// Computes c = a b + bias, or c = a b if the node has no third input.
std::unique_ptr<PrimitiveKernel> make_matmul(const Context& context, const KernelRequest& request, const Matrices& a,
                                             const Matrices& b, const Matrices& c) {
  MatrixProduct product{.a = a, .b = b, .c = c, .prefers_gemm = gemm_is_faster(context, a, b)};
  if (request.inputs.size() > 2) product.bias_input = 2;
  return make_matrix_product(context, product, request.input_is_variable[1]);
}

/// Whether the batch is so small that oneDNN's packing of the weights in each call is not worth its time.
bool is_small_batch(const Context& context, int64_t batch, int64_t in) {
  constexpr int64_t kFewRows = 4, kRowsMax = 32, kDepthMin = 8;
  return context.factors == kFloat && (batch <= kFewRows || (batch <= kRowsMax && in >= kDepthMin));
}

/// Whether oneDNN uses AVX-512: the processor has it, and oneDNN is not configured to do without.
bool has_avx512() {
#if defined(__x86_64__)
  constexpr auto kNeeded = unsigned(dnnl::cpu_isa::avx512_core);
  return (unsigned(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
#else
  return false;
#endif
}

/// oneDNN reads the transposed operand with the stride of its rows. If rows are long, the cache lines that it reads evict
/// each other: [2048, 1024]^T [2048, 256] took 27.7 ms with oneDNN and 13.5 ms with panels (AVX2, one thread). oneDNN is
/// still faster if the other operand is the wide one, or if the sums are short.
bool transpose_is_slow(int64_t batch, int64_t out, int64_t in) { return out >= 512 && out >= in && batch >= 16; }

/// True if the packed panels of backends/portable should compute dW. With AVX-512, and for batches that are not too large,
/// they are as fast as oneDNN: 0.95 to 1.05 of its rate for [128, 512]^T [128, 784] and similar sizes, 0.75 for a batch of
/// 1024 (Intel Xeon, Sapphire Rapids). They also pass rows of dW to the update while these are in the cache. Packed x must
/// fit into half a megabyte of a core's own cache, and dW must have enough rows to make packing x worth its time.
bool panels_are_fast(int64_t batch, int64_t out, int64_t in) {
  constexpr int64_t kDepthMax = 256, kRowsMin = 64, kOwnCacheBytes = 512 << 10;
  return has_avx512() && batch <= kDepthMax && out >= kRowsMin && batch * in * int64_t(sizeof(float)) <= kOwnCacheBytes;
}

}  // namespace

std::unique_ptr<Kernel> make_dense(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = request.inputs[1].shape[0], in = request.inputs[1].shape[1];
  if (is_small_batch(context, batch, in)) return nullptr;
  auto kernel = make_matmul(context, request, {batch, in}, {in, out, true}, {batch, out});
  if (kernel && fused_relu(request)) kernel->relu_after(request.outputs[0].shape.elements());
  return kernel;
}

std::unique_ptr<Kernel> make_dense_grad_input(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = request.inputs[1].shape[0], in = request.inputs[1].shape[1];
  if (is_small_batch(context, batch, in)) return nullptr;
  return make_matmul(context, request, {batch, out}, {out, in}, {batch, in});
}

std::unique_ptr<Kernel> make_dense_grad_kernel(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = columns_of(request.inputs[0]), in = columns_of(request.inputs[1]);
  // Up to this batch size, the update of the weights is a large part of the step. So the backend `portable` computes dW
  // then, since it passes rows of dW to the update while they are in the cache.
  constexpr int64_t kUpdateCountsMax = 64;
  if (context.factors == kFloat &&
      (batch <= kUpdateCountsMax || panels_are_fast(batch, out, in) || transpose_is_slow(batch, out, in))) {
    return nullptr;
  }
  // The rows of dW stay contiguous: for a dW that is described as transposed, oneDNN uses its reference code, which is a
  // thousand times slower.
  return make_matmul(context, request, {out, batch, true}, {batch, in}, {out, in});
}

}  // namespace shoal::backends::onednn
