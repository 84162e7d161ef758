// SPDX-License-Identifier: Apache-2.0
#include "convolution.h"

#include <algorithm>

#include "threads.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

}  // namespace

Convolution::Convolution(const Context& context, const Attributes& attributes, const Shape& image_, const Shape& filters_,
                         const Shape& result_)
    : image(image_), filters(filters_), result(result_), groups(attributes.get_int("groups", 1)), factors(context.factors) {
  const std::vector<int64_t>& stride = attributes.get_ints("strides");
  const std::vector<int64_t>& padding = attributes.get_ints("padding");  // Top, bottom, left, right.
  const std::vector<int64_t> dilation = attributes.get_ints("dilations", {1, 1});
  strides = {stride[0], stride[1]};
  dilations = {dilation[0] - 1, dilation[1] - 1};  // oneDNN's dilation is 0 for adjacent taps.
  before = {padding[0], padding[2]};
  after = {padding[1], padding[3]};
}

memory::desc Convolution::kernel() const {
  return groups == 1 ? kernels(filters) : plain(Shape{groups, filters[0] / groups, filters[1], filters[2], filters[3]});
}

memory::desc Convolution::kernel_any(memory::data_type type) const {
  return groups == 1 ? kernels_any(filters, type) : grouped_kernels_any(groups, filters, type);
}

dnnl::convolution_forward::primitive_desc Convolution::forward(const Context& context, const memory::desc& kernel,
                                                               memory::data_type y_type, const memory::desc* bias) const {
  const auto kind = dnnl::prop_kind::forward_training;
  const memory::desc x = images(image, factors), y = images(result, y_type);
  if (bias) {
    return describe<dnnl::convolution_forward>(context.engine, user_scratchpad(), kind, kAlgorithm, x, kernel, *bias, y,
                                               strides, dilations, before, after);
  }
  return describe<dnnl::convolution_forward>(context.engine, user_scratchpad(), kind, kAlgorithm, x, kernel, y, strides,
                                             dilations, before, after);
}

dnnl::convolution_backward_data::primitive_desc Convolution::backward_data(const Context& context,
                                                                           const memory::desc& kernel) const {
  return describe_backward<dnnl::convolution_backward_data>(
      context.engine, user_scratchpad(), forward(context, kernel_any(factors), factors), kAlgorithm, images(image), kernel,
      images(result, factors), strides, dilations, before, after);
}

dnnl::convolution_backward_weights::primitive_desc Convolution::backward_weights(const Context& context,
                                                                                 const memory::desc& kernel) const {
  return describe_backward<dnnl::convolution_backward_weights>(
      context.engine, user_scratchpad(), forward(context, kernel_any(factors), factors), kAlgorithm, images(image, factors),
      kernel, images(result, factors), strides, dilations, before, after);
}

/// The distance between the first and the last image row that a row of the result depends on.
int64_t Convolution::reach() const { return (filters[2] - 1) * (dilations[0] + 1); }

Convolution Convolution::of_images(int64_t begin, int64_t end) const {
  Convolution part = *this;
  part.image = Shape{end - begin, image[1], image[2], image[3]};
  part.result = Shape{end - begin, result[1], result[2], result[3]};
  part.image_offset = begin * image[1] * image[2] * image[3];
  part.result_offset = begin * result[1] * result[2] * result[3];
  return part;
}

/// Describes the part of a convolution that computes rows [begin, end) of the result from rows [image_begin, image_end) of
/// one image, with the padding that this needs. Returns nothing if no padding gives exactly these rows.
std::optional<Convolution> Convolution::of_rows(int64_t image_begin, int64_t image_end, int64_t begin, int64_t end) const {
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

std::optional<Convolution> Convolution::of_result_rows(int64_t begin, int64_t end) const {
  const int64_t first = begin * strides[0] - before[0], last = (end - 1) * strides[0] - before[0] + reach();
  return of_rows(std::max<int64_t>(0, first), std::min(image[1], last + 1), begin, end);
}
std::optional<Convolution> Convolution::of_image_rows(int64_t begin, int64_t end) const {
  const int64_t first = begin + before[0] - reach();
  const int64_t from = first <= 0 ? 0 : (first + strides[0] - 1) / strides[0];
  return of_rows(begin, end, from, std::min(result[1], (end - 1 + before[0]) / strides[0] + 1));
}

int convolution_threads(int threads, const Convolution& whole) {
  return team_for(threads, whole.multiplications() / 4);  // Four multiplications cost as much as moving a byte.
}

std::vector<Convolution> divided(int threads, const Convolution& whole, Rows rows) {
  const int64_t size = whole.image[0];
  const int64_t of = size > 1 ? size : rows == Rows::kOfResult ? whole.result[1] : whole.image[1];
  const int64_t parts = std::min<int64_t>(convolution_threads(threads, whole), of);
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

}  // namespace shoal::backends::onednn
