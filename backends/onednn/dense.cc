// SPDX-License-Identifier: Apache-2.0
// Dense layers by matmul on plain weights [out, in]: transposes are strides, so weights, wire and optimizer see one
// layout and nothing is reordered (inner_product in its own layout gains at most 15% and pays 20 to 50% for reorders).
// Few rows, small batches, and some gradients of weights are left to the loops of backends/portable, which are faster there.
#include <algorithm>

#include "matrix_product.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::onednn {
namespace {

/// oneDNN (2.6 and 3.7) puts its brgemm kernels first, also where its gemm is faster: in large products whose second factor
/// lies as it is read. [1024, 128] [128, 3136] took gemm 0.83 of brgemm's time, [128, 1024] [1024, 3136] 0.91, on one
/// thread and on two (AVX-512); of transposed factors it is brgemm that is faster.
bool gemm_is_faster(const Context& context, const Matrices& a, const Matrices& b) {
  constexpr int64_t kLarge = int64_t(1) << 26, kWide = 128;  // Multiplications, and columns.
  return context.factors == kFloat && !b.transposed && b.columns >= kWide && a.rows * a.columns >= kLarge / b.columns;
}

/// c = a b + bias; no bias where there is no third input.
std::unique_ptr<PrimitiveKernel> make_matmul(const Context& context, const KernelRequest& request, const Matrices& a,
                                             const Matrices& b, const Matrices& c) {
  MatrixProduct product{.a = a, .b = b, .c = c, .prefers_gemm = gemm_is_faster(context, a, b)};
  if (request.inputs.size() > 2) product.bias_input = 2;
  return make_matrix_product(context, product, request.input_is_variable[1]);
}

/// With more rows oneDNN's packing of the weights at each call is worth its time.
bool is_small_batch(const Context& context, int64_t batch, int64_t in) {
  constexpr int64_t kFewRows = 4, kRowsMax = 32, kDepthMin = 8;
  return context.factors == kFloat && (batch <= kFewRows || (batch <= kRowsMax && in >= kDepthMin));
}

/// Whether oneDNN computes with AVX-512: the processor has it, and oneDNN was not told to do without it.
bool has_avx512() {
#if defined(__x86_64__)
  constexpr auto kNeeded = unsigned(dnnl::cpu_isa::avx512_core);
  return (unsigned(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
#else
  return false;
#endif
}

/// oneDNN reads the transposed operand at strides of its rows, which push each other out of the cache where there are many
/// columns: [2048, 1024]^T [2048, 256] took it 27.7 ms, panels 13.5 (AVX2, one thread). It stays ahead where the other
/// operand is the wide one, or the sums are short.
bool transpose_is_slow(int64_t batch, int64_t out, int64_t in) { return out >= 512 && out >= in && batch >= 16; }

/// With AVX-512, panels (backends/portable) are as fast as oneDNN up to some depth (Intel Xeon, Sapphire Rapids: 0.95 to 1.05 of its rate for
/// [128, 512]^T [128, 784] and its like, 0.75 for 1024 rows), and the update comes while rows are in the cache. That is so
/// as long as a core's own cache, or half a megabyte of it, holds the packed x, and enough rows use it.
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
  // For small batches the update of the weights is a good part of the step: there rows have to come while it is in the cache.
  constexpr int64_t kUpdateCountsMax = 64;
  if (context.factors == kFloat &&
      (batch <= kUpdateCountsMax || panels_are_fast(batch, out, in) || transpose_is_slow(batch, out, in))) {
    return nullptr;
  }
  // The result keeps its rows contiguous: a transposed one falls to oneDNN's reference code, a thousand times slower.
  return make_matmul(context, request, {out, batch, true}, {batch, in}, {out, in});
}

}  // namespace shoal::backends::onednn
