// SPDX-License-Identifier: Apache-2.0
#include "convolution.h"
#include "sources.h"

namespace shoal::backends::onednn {

using dnnl::memory;

std::unique_ptr<Kernel> make_conv2d(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &x = request.inputs[0].shape, &w = request.inputs[1].shape, &y = request.outputs[0].shape;
  const Convolution convolution(context, request.node.attributes, x, w, y);
  const bool with_bias = request.inputs.size() > 2;
  const memory::desc bias = plain(Shape{w[0]});
  const auto [parts, descriptions, layout] = describe_parts(
      context.threads, convolution, Rows::kOfResult, convolution.kernel_any(context.factors),
      [&](const Convolution& part, const memory::desc& kernel) {
        return part.forward(context, kernel, kFloat, with_bias ? &bias : nullptr);
      },
      [](const auto& description) { return description.weights_desc(); });
  if (parts.empty()) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const Operand image = kernel->input_as(0, images(x), images(x, context.factors));
  const Operand weights = kernel->variable_as(1, request.input_is_variable[1], convolution.kernel(), layout);
  kernel->begin_step();
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& part = descriptions[i];
    std::vector<Argument> arguments{{DNNL_ARG_SRC, part.src_desc(), image, bytes(parts[i].image_offset, context.factors)},
                                    {DNNL_ARG_WEIGHTS, layout, weights},
                                    {DNNL_ARG_DST, part.dst_desc(), output(0), bytes(parts[i].result_offset, kFloat)}};
    if (with_bias) arguments.push_back({DNNL_ARG_BIAS, part.bias_desc(), input(2)});
    kernel->add_piece<dnnl::convolution_forward>(part, std::move(arguments));
  }
  if (fused_relu(request)) kernel->relu_after(y.elements());
  return kernel;
}

std::unique_ptr<Kernel> make_conv2d_grad_input(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &dy = request.inputs[0].shape, &w = request.inputs[1].shape, &dx = request.outputs[0].shape;
  const Convolution convolution(context, request.node.attributes, dx, w, dy);
  const auto [parts, descriptions, layout] = describe_parts(
      context.threads, convolution, Rows::kOfImage, convolution.kernel_any(context.factors),
      [&](const Convolution& part, const memory::desc& kernel) { return part.backward_data(context, kernel); },
      [](const auto& description) { return description.weights_desc(); });
  if (parts.empty()) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const Operand gradient = kernel->input_as(0, images(dy), images(dy, context.factors));
  const Operand weights = kernel->variable_as(1, request.input_is_variable[1], convolution.kernel(), layout);
  kernel->begin_step();
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& part = descriptions[i];
    kernel->add_piece<dnnl::convolution_backward_data>(
        part, {{DNNL_ARG_DIFF_DST, part.diff_dst_desc(), gradient, bytes(parts[i].result_offset, context.factors)},
               {DNNL_ARG_WEIGHTS, layout, weights},
               {DNNL_ARG_DIFF_SRC, part.diff_src_desc(), output(0), bytes(parts[i].image_offset, kFloat)}});
  }
  if (request.node.op == "conv2d_transpose" && request.inputs.size() > 2) kernel->bias_after(2, dx[3], dx.elements());
  return kernel;
}

}  // namespace shoal::backends::onednn
