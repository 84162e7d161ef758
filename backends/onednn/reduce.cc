// Sums, means, argmax. (oneDNN's reduction over rows is reference code, 330 times slower than a loop.)
#include "sources.h"
#include "threads.h"

namespace shoal::backends::onednn {

std::unique_ptr<Kernel> make_bias_grad(const Context& context, const KernelRequest& request) {
  if (!all_float32(request)) return nullptr;
  const int64_t columns = request.outputs[0].shape[0];
  const int64_t rows = columns == 0 ? 0 : request.inputs[0].shape.elements() / columns;
  const size_t scratch = row_blocks(rows) > 1 ? size_t(row_blocks(rows) * columns) * sizeof(float) : 0;
  auto run = [=, threads = context.threads](const KernelCall& call) -> Result<void> {
    sum_rows(threads, floats(call.inputs[0]), rows, columns, floats(call.outputs[0]),
             reinterpret_cast<float*>(call.scratch));
    return {};
  };
  return make_loop(run, scratch);
}

std::unique_ptr<Kernel> make_reduce(const Context&, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t count = request.inputs[0].shape.elements();
  const float divisor = request.node.op == "reduce_mean" ? float(count) : 1.0f;
  return make_loop([=](const KernelCall& call) -> Result<void> {
    *floats(call.outputs[0]) = sum(floats(call.inputs[0]), count) / divisor;
    return {};
  });
}

std::unique_ptr<Kernel> make_argmax(const Context& context, const KernelRequest& request) {
  if (request.inputs[0].dtype != DType::kFloat32 || !none_empty(request)) return nullptr;
  const Shape& shape = request.inputs[0].shape;
  const int64_t columns = shape[shape.rank() - 1], rows = shape.elements() / columns;
  return make_loop([=, threads = context.threads](const KernelCall& call) -> Result<void> {
    const float* x = floats(call.inputs[0]);
    int64_t* y = reinterpret_cast<int64_t*>(call.outputs[0].data);
    parallel_for(threads, rows, rows * columns * int64_t(sizeof(float)), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* values = x + row * columns;
        int64_t best = 0;
        for (int64_t c = 1; c < columns; ++c) best = values[c] > values[best] ? c : best;
        y[row] = best;
      }
    });
    return {};
  });
}

}  // namespace shoal::backends::onednn
