// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sizes of a convolution: image [N,H,W,C], filters [O,I,KH,KW] and result. The same sizes describe its gradients.
#include <cstdint>

#include "correlation.h"
#include "shoal/base/shape.h"
#include "shoal/graph/attributes.h"

namespace shoal::backends::portable {

struct Convolution {
  int64_t images, groups;
  int64_t channels, filters;  ///< How many channels and filters one group has.
  Axis down, right;           ///< The vertical and the horizontal axis of the forward convolution.

  Convolution(const Attributes& attributes, const Shape& image, const Shape& kernel, const Shape& result);
  int64_t taps() const { return down.taps * right.taps; }
  /// True if each channel has one filter of its own.
  bool is_depthwise() const { return groups > 1 && channels == 1 && filters == 1; }
  /// True if products of packed panels (panels.h) are faster than other loops. If groups have few channels, the products of
  /// one group are too small for panels.
  bool takes_panels() const { return groups == 1 || (channels >= 8 && filters >= 8); }
};

}  // namespace shoal::backends::portable
