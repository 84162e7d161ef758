// Convolutions on [N,H,W,C] images. Kernels are reordered from [O,I,KH,KW] to whatever layout each primitive asks for
// (once per version) and kernel gradients back: the only combination that is fast in oneDNN 2.6 and 3.x alike.
#include <algorithm>
#include <optional>

#include "sources.h"
#include "threads.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;

/// A convolution as oneDNN is told of it: image, filters and result are those of the forward one, whichever is wanted.
struct Convolution {
  Shape image, filters, result;
  int64_t groups;
  memory::data_type factors;
  memory::dims strides, dilations, before, after;
  int64_t image_offset = 0, result_offset = 0;  // elements, of a part of another one

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

  // With filters in the layout of `kernel`, which may be any.
  dnnl::convolution_forward::primitive_desc forward(const Context& context, const memory::desc& kernel,
                                                    memory::data_type y_type, const memory::desc* bias = nullptr) const {
    const auto kind = dnnl::prop_kind::forward_training;
    const memory::desc x = images(image, factors), y = images(result, y_type);
    if (bias) {
      return describe<dnnl::convolution_forward>(context.engine, user_scratchpad(), kind, kAlgorithm, x, kernel, *bias, y,
                                                 strides, dilations, before, after);
    }
    return describe<dnnl::convolution_forward>(context.engine, user_scratchpad(), kind, kAlgorithm, x, kernel, y, strides,
                                               dilations, before, after);
  }
  dnnl::convolution_backward_data::primitive_desc backward_data(const Context& context, const memory::desc& kernel) const {
    return describe_backward<dnnl::convolution_backward_data>(
        context.engine, user_scratchpad(), forward(context, kernel_any(factors), factors), kAlgorithm, images(image),
        kernel, images(result, factors), strides, dilations, before, after);
  }
  dnnl::convolution_backward_weights::primitive_desc backward_weights(const Context& context,
                                                                      const memory::desc& kernel) const {
    return describe_backward<dnnl::convolution_backward_weights>(
        context.engine, user_scratchpad(), forward(context, kernel_any(factors), factors), kAlgorithm,
        images(image, factors), kernel, images(result, factors), strides, dilations, before, after);
  }

  /// How far apart the first and the last row are that a row of the result is made of.
  int64_t reach() const { return (filters[2] - 1) * (dilations[0] + 1); }
  int64_t multiplications() const { return result.elements() * filters[1] * filters[2] * filters[3]; }

  Convolution of_images(int64_t begin, int64_t end) const {
    Convolution part = *this;
    part.image = Shape{end - begin, image[1], image[2], image[3]};
    part.result = Shape{end - begin, result[1], result[2], result[3]};
    part.image_offset = begin * image[1] * image[2] * image[3];
    part.result_offset = begin * result[1] * result[2] * result[3];
    return part;
  }
  /// Of one image, between these rows of it and of the result. Padding is what is left: none where it cannot be that.
  std::optional<Convolution> of_rows(int64_t image_begin, int64_t image_end, int64_t begin, int64_t end) const {
    const int64_t rows = image_end - image_begin, results = end - begin;
    if (rows <= 0 || results <= 0) return std::nullopt;
    Convolution part = *this;
    part.image = Shape{1, rows, image[2], image[3]};
    part.result = Shape{1, results, result[2], result[3]};
    part.before[0] = before[0] + image_begin - begin * strides[0];
    part.after[0] = std::max<int64_t>(0, (results - 1) * strides[0] + reach() + 1 - rows - part.before[0]);
    const int64_t made = (rows + part.before[0] + part.after[0] - reach() - 1) / strides[0] + 1;
    if (part.before[0] < 0 || part.before[0] > reach() || part.after[0] > reach() || made != results) return std::nullopt;
    part.image_offset = image_begin * image[2] * image[3];
    part.result_offset = begin * result[2] * result[3];
    return part;
  }
  /// Of one image, what some rows of the result are made of, and what some rows of the image went into.
  std::optional<Convolution> of_result_rows(int64_t begin, int64_t end) const {
    const int64_t first = begin * strides[0] - before[0], last = (end - 1) * strides[0] - before[0] + reach();
    return of_rows(std::max<int64_t>(0, first), std::min(image[1], last + 1), begin, end);
  }
  std::optional<Convolution> of_image_rows(int64_t begin, int64_t end) const {
    const int64_t first = begin + before[0] - reach();
    const int64_t from = first <= 0 ? 0 : (first + strides[0] - 1) / strides[0];
    return of_rows(begin, end, from, std::min(result[1], (end - 1 + before[0]) / strides[0] + 1));
  }

  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
};

/// What is divided where there is one image: what is written, or, for a sum over all, either.
enum class Rows { kOfResult, kOfImage };

/// Parts to be computed beside each other: some images each, or, of one image, some rows.
std::vector<Convolution> divided(int threads, const Convolution& whole, Rows rows) {
  const int64_t size = whole.image[0];
  // A multiplication costs less than the traffic of a float.
  const int64_t team = team_for(threads, whole.multiplications() / 4);
  const int64_t of = size > 1 ? size : rows == Rows::kOfResult ? whole.result[1] : whole.image[1];
  const int64_t parts = std::min(team, of);
  if (parts == 1) return {whole};
  std::vector<Convolution> pieces;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = of * i / parts, end = of * (i + 1) / parts;
    std::optional<Convolution> piece;
    if (size > 1) {
      piece = whole.of_images(begin, end);
    } else {
      piece = rows == Rows::kOfResult ? whole.of_result_rows(begin, end) : whole.of_image_rows(begin, end);
    }
    if (!piece) return {whole};
    pieces.push_back(std::move(*piece));
  }
  return pieces;
}

template <class Description>
struct Described {
  std::vector<Convolution> parts;
  std::vector<Description> descriptions;
  memory::desc kernel;  // the layout of the filters, of all parts
};

/// describe_part(part, kernel) of each part, all with the layout that the first one chooses; of the whole, where oneDNN has
/// no implementation worth taking for one of the parts. No parts where it has none for the whole either.
template <class DescribePart, class LayoutOf>
auto describe_parts(int threads, const Convolution& whole, Rows rows, const memory::desc& any,
                    const DescribePart& describe_part, const LayoutOf& layout_of) {
  using Description = decltype(describe_part(whole, any));
  for (const std::vector<Convolution>& parts : {divided(threads, whole, rows), std::vector{whole}}) {
    Described<Description> described{parts, {}, any};
    for (const Convolution& part : parts) {
      Description description = describe_part(part, described.kernel);
      if (!usable(description)) break;
      described.kernel = layout_of(description);
      described.descriptions.push_back(std::move(description));
    }
    if (described.descriptions.size() == parts.size()) return described;
  }
  return Described<Description>{};
}

int64_t bytes(int64_t elements, memory::data_type type) { return elements * int64_t(memory::data_type_size(type)); }

}  // namespace

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

std::unique_ptr<Kernel> make_conv2d_grad_kernel(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &dy = request.inputs[0].shape, &x = request.inputs[1].shape, &dw = request.outputs[0].shape;
  const Convolution convolution(context, request.node.attributes, x, dw, dy);
  const auto [parts, descriptions, layout] = describe_parts(
      context.threads, convolution, Rows::kOfResult, convolution.kernel_any(kFloat),
      [&](const Convolution& part, const memory::desc& kernel) { return part.backward_weights(context, kernel); },
      [](const auto& description) { return description.diff_weights_desc(); });
  if (parts.empty()) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const bool same = layout == convolution.kernel();
  const Operand gradient = same ? output(0) : kernel->reserve_scratch(layout);
  const Operand image = kernel->input_as(1, images(x), images(x, context.factors));
  const Operand result_gradient = kernel->input_as(0, images(dy), images(dy, context.factors));
  const int64_t count = int64_t(parts.size());
  const int64_t stride = count > 1 ? int64_t(align_up(layout.get_size())) : 0;
  const Operand sums = count > 1 ? kernel->reserve_scratch(layout, count) : gradient;  // of each part alone
  kernel->begin_step();
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& part = descriptions[i];
    kernel->add_piece<dnnl::convolution_backward_weights>(
        part, {{DNNL_ARG_SRC, part.src_desc(), image, bytes(parts[i].image_offset, context.factors)},
               {DNNL_ARG_DIFF_DST, part.diff_dst_desc(), result_gradient, bytes(parts[i].result_offset, context.factors)},
               {DNNL_ARG_DIFF_WEIGHTS, layout, sums, int64_t(i) * stride}});
  }
  if (count > 1) kernel->add_sum(sums, count, int64_t(layout.get_size() / sizeof(float)), gradient);
  if (!same) kernel->add_reorder(layout, gradient, convolution.kernel(), output(0));
  return kernel;
}

}  // namespace shoal::backends::onednn
