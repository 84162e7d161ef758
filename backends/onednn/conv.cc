// Convolutions on [N,H,W,C] images. Kernels are reordered from [O,I,KH,KW] to whatever layout each primitive asks for
// (once per version) and kernel gradients back: the only combination that is fast in oneDNN 2.6 and 3.x alike.
#include "sources.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;

struct Geometry {
  memory::dims strides, before, after;
  explicit Geometry(const Attributes& attributes) {
    const std::vector<int64_t>& stride = attributes.get_ints("strides");
    const std::vector<int64_t>& padding = attributes.get_ints("padding");  // top, bottom, left, right
    strides = {stride[0], stride[1]};
    before = {padding[0], padding[2]};
    after = {padding[1], padding[3]};
  }
};

dnnl::convolution_forward::primitive_desc describe_forward(const Context& context, const Shape& x, const Shape& w,
                                                           const Shape& y, const Geometry& geometry, bool with_bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto attributes = user_scratchpad();
  const auto algorithm = dnnl::algorithm::convolution_direct;
  if (with_bias) {
    return describe<dnnl::convolution_forward>(context.engine, attributes, kind, algorithm, images(x), kernels_any(w),
                                               plain(Shape{w[0]}), images(y), geometry.strides, geometry.before,
                                               geometry.after);
  }
  return describe<dnnl::convolution_forward>(context.engine, attributes, kind, algorithm, images(x), kernels_any(w),
                                             images(y), geometry.strides, geometry.before, geometry.after);
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &x = request.inputs[0].shape, &w = request.inputs[1].shape, &y = request.outputs[0].shape;
  const bool with_bias = request.inputs.size() > 2;
  const auto forward =
      describe_forward(context, x, w, y, Geometry(request.node.attributes), with_bias);
  if (!usable(forward)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const Operand weights = kernel->variable_as(1, request.input_is_variable[1], kernels(w), forward.weights_desc());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, forward.src_desc(), input(0)},
                                  {DNNL_ARG_WEIGHTS, forward.weights_desc(), weights},
                                  {DNNL_ARG_DST, forward.dst_desc(), output(0)}};
  if (with_bias) arguments.push_back({DNNL_ARG_BIAS, forward.bias_desc(), input(2)});
  kernel->add<dnnl::convolution_forward>(forward, std::move(arguments));
  if (fused_relu(request)) kernel->relu_after(request.outputs[0].shape.elements());
  return kernel;
}

std::unique_ptr<Kernel> make_conv2d_grad_input(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &dy = request.inputs[0].shape, &w = request.inputs[1].shape, &dx = request.outputs[0].shape;
  const Geometry geometry(request.node.attributes);
  const auto forward = describe_forward(context, dx, w, dy, geometry, false);
  if (!forward) return nullptr;
  const auto backward = describe_backward<dnnl::convolution_backward_data>(
      context.engine, user_scratchpad(), forward, dnnl::algorithm::convolution_direct, images(dx), kernels_any(w),
      images(dy), geometry.strides, geometry.before, geometry.after);
  if (!usable(backward)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const Operand weights = kernel->variable_as(1, request.input_is_variable[1], kernels(w), backward.weights_desc());
  kernel->add<dnnl::convolution_backward_data>(backward, {{DNNL_ARG_DIFF_DST, backward.diff_dst_desc(), input(0)},
                                                          {DNNL_ARG_WEIGHTS, backward.weights_desc(), weights},
                                                          {DNNL_ARG_DIFF_SRC, backward.diff_src_desc(), output(0)}});
  return kernel;
}

std::unique_ptr<Kernel> make_conv2d_grad_kernel(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &dy = request.inputs[0].shape, &x = request.inputs[1].shape, &dw = request.outputs[0].shape;
  const Geometry geometry(request.node.attributes);
  const auto forward = describe_forward(context, x, dw, dy, geometry, false);
  if (!forward) return nullptr;
  const auto backward = describe_backward<dnnl::convolution_backward_weights>(
      context.engine, user_scratchpad(), forward, dnnl::algorithm::convolution_direct, images(x), kernels_any(dw),
      images(dy), geometry.strides, geometry.before, geometry.after);
  if (!usable(backward)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const memory::desc own = backward.diff_weights_desc();
  const bool same = own == kernels(dw);
  const Operand gradient = same ? output(0) : kernel->reserve_scratch(own);
  kernel->add<dnnl::convolution_backward_weights>(backward, {{DNNL_ARG_SRC, backward.src_desc(), input(1)},
                                                             {DNNL_ARG_DIFF_DST, backward.diff_dst_desc(), input(0)},
                                                             {DNNL_ARG_DIFF_WEIGHTS, own, gradient}});
  if (!same) kernel->add_reorder(own, gradient, kernels(dw), output(0));
  return kernel;
}

}  // namespace shoal::backends::onednn
