// SPDX-License-Identifier: Apache-2.0
#include "convolution.h"

namespace shoal::backends::portable {
namespace {

Axis axis_of(const Attributes& attributes, size_t number, int64_t in, int64_t out, int64_t taps) {
  return {.in = in,
          .out = out,
          .taps = taps,
          .stride = attributes.get_ints("strides")[number],
          .begin = -attributes.get_ints("padding")[2 * number],  // "padding" is top, bottom, left, right.
          .dilation = attributes.get_ints("dilations", {1, 1})[number]};
}

}  // namespace

Convolution::Convolution(const Attributes& attributes, const Shape& image, const Shape& kernel, const Shape& result)
    : images(image[0]),
      groups(attributes.get_int("groups", 1)),
      channels(kernel[1]),
      filters(kernel[0] / groups),
      down(axis_of(attributes, 0, image[1], result[1], kernel[2])),
      right(axis_of(attributes, 1, image[2], result[2], kernel[3])) {}

}  // namespace shoal::backends::portable
