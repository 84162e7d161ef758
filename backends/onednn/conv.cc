// Convolutions on [N,H,W,C] images. Kernels are reordered from [O,I,KH,KW] to whatever layout each primitive asks for
// (once per version) and kernel gradients back: the only combination that is fast in oneDNN 2.6 and 3.x alike.
#include "sources.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;

/// A convolution as oneDNN is told of it: image, filters and result are those of the forward one, whichever is wanted.
struct Convolution {
  Shape image, filters, result;
  int64_t groups;
  memory::data_type factors;
  memory::dims strides, dilations, before, after;

  Convolution(const Context& context, const Attributes& attributes, const Shape& image_, const Shape& filters_,
              const Shape& result_)
      : image(image_),
        filters(filters_),
        result(result_),
        groups(attributes.get_int("groups", 1)),
        factors(context.factors) {
    const std::vector<int64_t>& stride = attributes.get_ints("strides");
    const std::vector<int64_t>& padding = attributes.get_ints("padding");  // top, bottom, left, right
    const std::vector<int64_t> dilation = attributes.get_ints("dilations", {1, 1});
    strides = {stride[0], stride[1]};
    dilations = {dilation[0] - 1, dilation[1] - 1};  // oneDNN counts the gaps
    before = {padding[0], padding[2]};
    after = {padding[1], padding[3]};
  }

  memory::desc kernel() const {
    return groups == 1 ? kernels(filters) : plain(Shape{groups, filters[0] / groups, filters[1], filters[2], filters[3]});
  }
  memory::desc kernel_any(memory::data_type type) const {
    return groups == 1 ? kernels_any(filters, type) : grouped_kernels_any(groups, filters, type);
  }

  dnnl::convolution_forward::primitive_desc forward(const Context& context, memory::data_type y_type,
                                                    const memory::desc* bias = nullptr) const {
    const auto kind = dnnl::prop_kind::forward_training;
    const memory::desc x = images(image, factors), w = kernel_any(factors), y = images(result, y_type);
    if (bias) {
      return describe<dnnl::convolution_forward>(context.engine, user_scratchpad(), kind, kAlgorithm, x, w, *bias, y,
                                                 strides, dilations, before, after);
    }
    return describe<dnnl::convolution_forward>(context.engine, user_scratchpad(), kind, kAlgorithm, x, w, y, strides,
                                               dilations, before, after);
  }
  dnnl::convolution_backward_data::primitive_desc backward_data(const Context& context) const {
    return describe_backward<dnnl::convolution_backward_data>(context.engine, user_scratchpad(), forward(context, factors),
                                                              kAlgorithm, images(image), kernel_any(factors),
                                                              images(result, factors), strides, dilations, before, after);
  }
  dnnl::convolution_backward_weights::primitive_desc backward_weights(const Context& context) const {
    return describe_backward<dnnl::convolution_backward_weights>(
        context.engine, user_scratchpad(), forward(context, factors), kAlgorithm, images(image, factors),
        kernel_any(kFloat), images(result, factors), strides, dilations, before, after);
  }

  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &x = request.inputs[0].shape, &w = request.inputs[1].shape, &y = request.outputs[0].shape;
  const Convolution convolution(context, request.node.attributes, x, w, y);
  const bool with_bias = request.inputs.size() > 2;
  const memory::desc bias = plain(Shape{w[0]});
  const auto forward = convolution.forward(context, kFloat, with_bias ? &bias : nullptr);
  if (!usable(forward)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const Operand image = kernel->input_as(0, images(x), forward.src_desc());
  const Operand weights =
      kernel->variable_as(1, request.input_is_variable[1], convolution.kernel(), forward.weights_desc());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, forward.src_desc(), image},
                                  {DNNL_ARG_WEIGHTS, forward.weights_desc(), weights},
                                  {DNNL_ARG_DST, forward.dst_desc(), output(0)}};
  if (with_bias) arguments.push_back({DNNL_ARG_BIAS, forward.bias_desc(), input(2)});
  kernel->add<dnnl::convolution_forward>(forward, std::move(arguments));
  if (fused_relu(request)) kernel->relu_after(y.elements());
  return kernel;
}

std::unique_ptr<Kernel> make_conv2d_grad_input(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &dy = request.inputs[0].shape, &w = request.inputs[1].shape, &dx = request.outputs[0].shape;
  const Convolution convolution(context, request.node.attributes, dx, w, dy);
  const auto backward = convolution.backward_data(context);
  if (!usable(backward)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const Operand gradient = kernel->input_as(0, images(dy), backward.diff_dst_desc());
  const Operand weights =
      kernel->variable_as(1, request.input_is_variable[1], convolution.kernel(), backward.weights_desc());
  kernel->add<dnnl::convolution_backward_data>(backward, {{DNNL_ARG_DIFF_DST, backward.diff_dst_desc(), gradient},
                                                          {DNNL_ARG_WEIGHTS, backward.weights_desc(), weights},
                                                          {DNNL_ARG_DIFF_SRC, backward.diff_src_desc(), output(0)}});
  if (request.node.op == "conv2d_transpose" && request.inputs.size() > 2) kernel->bias_after(2, dx[3], dx.elements());
  return kernel;
}

std::unique_ptr<Kernel> make_conv2d_grad_kernel(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &dy = request.inputs[0].shape, &x = request.inputs[1].shape, &dw = request.outputs[0].shape;
  const Convolution convolution(context, request.node.attributes, x, dw, dy);
  const auto backward = convolution.backward_weights(context);
  if (!usable(backward)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const memory::desc own = backward.diff_weights_desc();
  const bool same = own == convolution.kernel();
  const Operand gradient = same ? output(0) : kernel->reserve_scratch(own);
  const Operand image = kernel->input_as(1, images(x), backward.src_desc());
  const Operand result_gradient = kernel->input_as(0, images(dy), backward.diff_dst_desc());
  kernel->add<dnnl::convolution_backward_weights>(backward, {{DNNL_ARG_SRC, backward.src_desc(), image},
                                                             {DNNL_ARG_DIFF_DST, backward.diff_dst_desc(), result_gradient},
                                                             {DNNL_ARG_DIFF_WEIGHTS, own, gradient}});
  if (!same) kernel->add_reorder(own, gradient, convolution.kernel(), output(0));
  return kernel;
}

}  // namespace shoal::backends::onednn
