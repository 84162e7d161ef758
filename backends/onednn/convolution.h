// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Convolutions on [N,H,W,C] images, and their division into parts. Filters are reordered from [O,I,KH,KW] to the layout
/// that each primitive asks for, once for each version of the weights. The gradients of filters are reordered back. No
/// other combination of layouts is fast in both oneDNN 2.6 and 3.x.
#include <optional>
#include <vector>

#include "primitive.h"
#include "shoal/base/shape.h"
#include "shoal/graph/attributes.h"

namespace shoal::backends::onednn {

/// The sizes and options of a convolution, as oneDNN needs them. Image, filters and result are those of the forward
/// convolution, also if a gradient is computed.
struct Convolution {
  Shape image, filters, result;
  int64_t groups;
  dnnl::memory::data_type factors;
  dnnl::memory::dims strides, dilations, before, after;
  int64_t image_offset = 0, result_offset = 0;  ///< The offsets, in elements, at which this part of a convolution begins.

  Convolution(const Context& context, const Attributes& attributes, const Shape& image_, const Shape& filters_,
              const Shape& result_);

  /// Both functions describe the filters. kernel() has the layout of the graph, [O,I,KH,KW]. kernel_any()
  /// leaves the choice of a layout to the oneDNN primitive.
  dnnl::memory::desc kernel() const;
  dnnl::memory::desc kernel_any(dnnl::memory::data_type type) const;

  /// The primitive descriptions for filters with the layout `kernel`, which may be "any".
  dnnl::convolution_forward::primitive_desc forward(const Context& context, const dnnl::memory::desc& kernel,
                                                    dnnl::memory::data_type y_type,
                                                    const dnnl::memory::desc* bias = nullptr) const;
  dnnl::convolution_backward_data::primitive_desc backward_data(const Context& context,
                                                                const dnnl::memory::desc& kernel) const;
  dnnl::convolution_backward_weights::primitive_desc backward_weights(const Context& context,
                                                                      const dnnl::memory::desc& kernel) const;

  int64_t multiplications() const { return result.elements() * filters[1] * filters[2] * filters[3]; }

  Convolution of_images(int64_t begin, int64_t end) const;
  /// Both functions divide the convolution of a single image. of_result_rows() describes the part that computes rows
  /// [begin, end) of the result. of_image_rows() describes the part whose gradient is that of rows [begin, end) of the
  /// image. Both return nothing if no padding gives exactly these rows.
  std::optional<Convolution> of_result_rows(int64_t begin, int64_t end) const;
  std::optional<Convolution> of_image_rows(int64_t begin, int64_t end) const;

 private:
  int64_t reach() const;
  std::optional<Convolution> of_rows(int64_t image_begin, int64_t image_end, int64_t begin, int64_t end) const;
};

/// Returns how many threads should compute `whole`.
int convolution_threads(int threads, const Convolution& whole);

/// Threads divide one image by rows of the tensor that they write: the result, or the gradient of the image.
enum class Rows { kOfResult, kOfImage };

/// Divides a convolution into parts that are computed at the same time: some images each or, for one image, some rows.
std::vector<Convolution> divided(int threads, const Convolution& whole, Rows rows);

template <class Description>
struct Described {
  std::vector<Convolution> parts;
  std::vector<Description> descriptions;
  dnnl::memory::desc kernel;  // The layout of the filters, the same in all parts.
};

/// Divides `whole` into parts, and calls describe_part(part, kernel) for each part to get its description from oneDNN.
/// `kernel` is the layout of the filters: `any` for the first part, and for the others the layout that the first part has
/// chosen. If oneDNN has no fast implementation for one of the parts, `whole` is described as a single part. Returns no
/// parts if oneDNN has none for `whole` either.
template <class DescribePart, class LayoutOf>
auto describe_parts(int threads, const Convolution& whole, Rows rows, const dnnl::memory::desc& any,
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

inline int64_t bytes(int64_t elements, dnnl::memory::data_type type) {
  return elements * int64_t(dnnl::memory::data_type_size(type));
}

}  // namespace shoal::backends::onednn
