// SPDX-License-Identifier: Apache-2.0
// Gradients of a convolution's filters. For several images, each thread sums over some of them. For one image, each thread
// computes some of the filters, so that every sum is taken in the order of a single thread.
#include <algorithm>

#include "convolution.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;
using Gradient = dnnl::convolution_backward_weights;

/// Makes a kernel of one or several parts. Each part sums over some of the images, and then the sums of all parts are added
/// up. All parts use the layout of the filters that oneDNN chooses for the first part.
std::unique_ptr<Kernel> of_images(const Context& context, const Convolution& whole) {
  const auto [parts, descriptions, layout] = describe_parts(
      context.threads, whole, Rows::kOfResult, whole.kernel_any(kFloat),
      [&](const Convolution& part, const memory::desc& kernel) { return part.backward_weights(context, kernel); },
      [](const auto& description) { return description.diff_weights_desc(); });
  if (parts.empty()) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const bool same = layout == whole.kernel();
  const Operand gradient = same ? output(0) : kernel->reserve_scratch(layout);
  const Operand image = kernel->input_as(1, images(whole.image), images(whole.image, context.factors));
  const Operand result_gradient = kernel->input_as(0, images(whole.result), images(whole.result, context.factors));
  const int64_t count = int64_t(parts.size());
  const int64_t stride = count > 1 ? int64_t(align_up(layout.get_size())) : 0;
  const Operand sums = count > 1 ? kernel->reserve_scratch(layout, count) : gradient;  // A gradient per part.
  kernel->begin_step();
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& part = descriptions[i];
    kernel->add_piece<Gradient>(
        part, {{DNNL_ARG_SRC, part.src_desc(), image, bytes(parts[i].image_offset, context.factors)},
               {DNNL_ARG_DIFF_DST, part.diff_dst_desc(), result_gradient, bytes(parts[i].result_offset, context.factors)},
               {DNNL_ARG_DIFF_WEIGHTS, layout, sums, int64_t(i) * stride}});
  }
  if (count > 1) kernel->add_sum(sums, count, int64_t(layout.get_size() / sizeof(float)), gradient);
  if (!same) kernel->add_reorder(layout, gradient, whole.kernel(), output(0));
  return kernel;
}

/// Filters [begin, end), whose gradient for one image is computed on its own, from a copy of the channels of dy that belong
/// to these filters.
struct FilterRange {
  int64_t begin, end;
  Convolution part;
  Gradient::primitive_desc description = {};
};

/// The size of each range is a multiple of this number of filters: those of one group or, if there is only one group, those
/// of one block in oneDNN's layouts.
int64_t filters_together(const Convolution& whole) {
  constexpr int64_t kBlock = 16;
  return whole.groups > 1 ? whole.filters[0] / whole.groups : kBlock;
}

int64_t ranges_most(const Convolution& whole) {
  const int64_t blocks = whole.filters[0] / filters_together(whole);
  return whole.groups > 1 ? blocks / 2 : blocks;
}

/// Divides the filters into `count` ranges.
std::vector<FilterRange> filter_ranges(const Convolution& whole, int64_t count) {
  const int64_t filters = whole.filters[0], together = filters_together(whole), blocks = filters / together;
  std::vector<FilterRange> ranges;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t end = i + 1 == count ? filters : blocks * (i + 1) / count * together;
    FilterRange range{blocks * i / count * together, end, whole};
    Convolution& part = range.part;
    const int64_t size = range.end - range.begin;
    part.filters = Shape{size, whole.filters[1], whole.filters[2], whole.filters[3]};
    part.result = Shape{1, whole.result[1], whole.result[2], size};
    part.result_offset = range.begin;
    if (whole.groups > 1) {
      part.groups = size / together;
      part.image = Shape{1, whole.image[1], whole.image[2], part.groups * whole.filters[1]};
      part.image_offset = range.begin / together * whole.filters[1];
    }
    ranges.push_back(std::move(range));
  }
  return ranges;
}

/// Describes some channels of images [N,H,W,C] in place, without a copy: the other channels stay in memory between them.
memory::desc channels_of(const Shape& all, const Shape& some) {
  const int64_t pixel = all[3], row = all[2] * pixel;
  return {{some[0], some[3], some[1], some[2]}, kFloat, {all[1] * row, 1, row, pixel}};
}

/// Divides the filters among threads. Null if one thread computes them all, or if oneDNN has no fast implementation.
std::unique_ptr<Kernel> of_filters(const Context& context, const Convolution& whole) {
  const int64_t count = std::min<int64_t>(convolution_threads(context.threads, whole), ranges_most(whole));
  if (count < 2) return nullptr;
  std::vector<FilterRange> ranges = filter_ranges(whole, count);
  for (FilterRange& range : ranges) {
    range.description = range.part.backward_weights(context, range.part.kernel_any(kFloat));
    if (!usable(range.description)) return nullptr;
  }
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const auto copies = [&](Operand source, const Shape& all, Shape Convolution::*some, int64_t Convolution::*offset) {
    std::vector<Operand> targets;
    kernel->begin_step();
    for (const FilterRange& range : ranges) {
      const Shape& channels = range.part.*some;
      targets.push_back(kernel->reserve_scratch(images(channels, context.factors)));
      kernel->add_reorder_piece({DNNL_ARG_FROM, channels_of(all, channels), source, bytes(range.part.*offset, kFloat)},
                                {DNNL_ARG_TO, images(channels, context.factors), targets.back()});
    }
    return targets;
  };
  const std::vector<Operand> result = copies(input(0), whole.result, &Convolution::result, &Convolution::result_offset);
  const std::vector<Operand> image =
      whole.groups > 1
          ? copies(input(1), whole.image, &Convolution::image, &Convolution::image_offset)
          : std::vector(ranges.size(), kernel->input_as(1, images(whole.image), images(whole.image, context.factors)));
  std::vector<Operand> gradient;
  kernel->begin_step();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Gradient::primitive_desc& part = ranges[i].description;
    gradient.push_back(kernel->reserve_scratch(part.diff_weights_desc()));
    kernel->add_piece<Gradient>(part, {{DNNL_ARG_SRC, part.src_desc(), image[i]},
                                       {DNNL_ARG_DIFF_DST, part.diff_dst_desc(), result[i]},
                                       {DNNL_ARG_DIFF_WEIGHTS, part.diff_weights_desc(), gradient[i]}});
  }
  kernel->begin_step();
  const int64_t filter = whole.filters.elements() / whole.filters[0];
  for (size_t i = 0; i < ranges.size(); ++i) {
    kernel->add_reorder_piece({DNNL_ARG_FROM, ranges[i].description.diff_weights_desc(), gradient[i]},
                              {DNNL_ARG_TO, ranges[i].part.kernel(), output(0), bytes(ranges[i].begin * filter, kFloat)});
  }
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d_grad_kernel(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &dy = request.inputs[0].shape, &x = request.inputs[1].shape, &dw = request.outputs[0].shape;
  const Convolution convolution(context, request.node.attributes, x, dw, dy);
  if (x[0] > 1) return of_images(context, convolution);
  if (auto kernel = of_filters(context, convolution)) return kernel;
  Context alone = context;
  alone.threads = 1;
  return of_images(alone, convolution);
}

}  // namespace shoal::backends::onednn
