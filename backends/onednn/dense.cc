// Dense layers by matmul on plain weights [out, in]: transposes are strides, so weights, wire and optimizer see one
// layout and nothing is reordered (inner_product in its own layout gains at most 15% and pays 20 to 50% for reorders).
// [..., features] is a matrix of as many rows as there are before the last axis.
#include "products.h"
#include "sources.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;

memory::desc matrix(int64_t rows, int64_t columns, bool transposed = false) {
  return {{rows, columns}, memory::data_type::f32, transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

int64_t columns_of(const TensorType& type) { return type.shape[type.shape.rank() - 1]; }
int64_t rows_of(const TensorType& type) { return type.shape.elements() / columns_of(type); }

std::unique_ptr<Kernel> make_matmul(const Context& context, const memory::desc& a, const memory::desc& b,
                                    const memory::desc& c) {
  const auto description = describe<dnnl::matmul>(context.engine, user_scratchpad(), a, b, c);
  if (!usable(description)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  kernel->add<dnnl::matmul>(description,
                            {{DNNL_ARG_SRC, a, input(0)}, {DNNL_ARG_WEIGHTS, b, input(1)}, {DNNL_ARG_DST, c, output(0)}});
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> make_dense(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = request.inputs[1].shape[0], in = request.inputs[1].shape[1];
  const memory::desc x = matrix(batch, in), w = matrix(in, out, true), y = matrix(batch, out);
  std::vector<Argument> arguments{
      {DNNL_ARG_SRC, x, input(0)}, {DNNL_ARG_WEIGHTS, w, input(1)}, {DNNL_ARG_DST, y, output(0)}};
  dnnl::matmul::primitive_desc description;
  if (request.inputs.size() > 2) {
    const memory::desc bias = matrix(1, out);
    description = describe<dnnl::matmul>(context.engine, user_scratchpad(), x, w, bias, y);
    arguments.push_back({DNNL_ARG_BIAS, bias, input(2)});
  } else {
    description = describe<dnnl::matmul>(context.engine, user_scratchpad(), x, w, y);
  }
  if (!usable(description)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  kernel->add<dnnl::matmul>(description, std::move(arguments));
  if (fused_relu(request)) kernel->relu_after(request.outputs[0].shape.elements());
  return kernel;
}

std::unique_ptr<Kernel> make_dense_grad_input(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = request.inputs[1].shape[0], in = request.inputs[1].shape[1];
  return make_matmul(context, matrix(batch, out), matrix(out, in), matrix(batch, in));
}

namespace {

/// oneDNN reads the transposed operand at strides of its rows, which push each other out of the cache where there are many
/// columns: [2048, 1024]^T [2048, 256] took it 27.7 ms, this 13.5 (AVX2, one thread). It stays ahead where the other
/// operand is the wide one, or the sums are short.
bool transpose_is_slow(int64_t batch, int64_t out, int64_t in) { return out >= 512 && out >= in && batch >= 16; }

std::unique_ptr<Kernel> make_panel_grad_kernel(const Context& context, int64_t batch, int64_t out, int64_t in) {
  const TransposedProduct product{.threads = context.threads, .rows = out, .depth = batch, .columns = in};
  const int64_t packed = packed_floats(batch, in);
  auto run = [=](const KernelCall& call) -> Result<void> {
    auto* scratch = reinterpret_cast<float*>(call.scratch);
    pack_together(product.threads, {floats(call.inputs[1]), in}, batch, in, scratch);
    product.run(floats(call.inputs[0]), scratch, floats(call.outputs[0]), scratch + packed);
    return {};
  };
  return make_loop(run, size_t(packed + product.threads * kLeftBlockFloats) * sizeof(float));
}

}  // namespace

std::unique_ptr<Kernel> make_dense_grad_kernel(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = columns_of(request.inputs[0]), in = columns_of(request.inputs[1]);
  if (transpose_is_slow(batch, out, in)) return make_panel_grad_kernel(context, batch, out, in);
  // The result keeps its rows contiguous: a transposed one falls to oneDNN's reference code, a thousand times slower.
  return make_matmul(context, matrix(out, batch, true), matrix(batch, in), matrix(out, in));
}

}  // namespace shoal::backends::onednn
