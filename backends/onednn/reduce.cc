// Sums, means, argmax. (oneDNN's reduction over rows is reference code, 330 times slower than a loop.)
#include <cmath>

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
  const Attributes& attributes = request.node.attributes;
  const int axis = attributes.has("axis") ? int(attributes.get_int("axis")) : shape.rank() - 1;
  const int64_t length = shape[axis], rows = shape.elements() / length;
  int64_t step = 1;  // between neighbours along the axis
  for (int a = axis + 1; a < shape.rank(); ++a) step *= shape[a];
  return make_loop([=, threads = context.threads](const KernelCall& call) -> Result<void> {
    const float* x = floats(call.inputs[0]);
    int64_t* y = reinterpret_cast<int64_t*>(call.outputs[0].data);
    parallel_for(threads, rows, rows * length * int64_t(sizeof(float)), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* values = x + row / step * length * step + row % step;
        float highest = values[0];
        int64_t best = 0;
        for (int64_t i = 1; i < length; ++i) {
          // Not above, and not below or equal either: one of them is NaN, which counts as the largest.
          const float value = values[i * step];
          if (value <= highest || std::isnan(highest)) continue;
          highest = value;
          best = i;
        }
        y[row] = best;
      }
    });
    return {};
  });
}

}  // namespace shoal::backends::onednn
