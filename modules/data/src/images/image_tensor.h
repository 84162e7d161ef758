// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tensors as images: their sides, and what is said of those that are none.
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/tensor.h"

namespace shoal::data {

struct ImageShape {
  int64_t height = 0, width = 0, channels = 0;
  int64_t pixels() const { return height * width; }
};

/// Raises InvalidArgument unless `condition`: `function` refuses `image`, and `advice` says what to give.
void require_image(bool condition, std::string_view function, const Tensor& image, std::string_view advice);

/// The sides of an image. Raises InvalidArgument, in the name of `function`, unless it is uint8 or float32 [height, width,
/// channels] with at least one pixel and one channel.
ImageShape image_shape(const Tensor& image, std::string_view function);

/// fn(T()) for the type T of the pixels of an image that image_shape() has seen.
template <class Fn>
auto by_pixel_type(const Tensor& image, Fn&& fn) {
  return image.dtype() == DType::kUInt8 ? fn(uint8_t()) : fn(float());
}

/// The shape of a tensor that has these sides.
inline Shape shape_of(const ImageShape& image) { return Shape{image.height, image.width, image.channels}; }

}  // namespace shoal::data
