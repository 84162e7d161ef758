// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tensors as images: their sides, and the errors for tensors that are no images.
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/tensor.h"

namespace shoal::data {

struct ImageShape {
  int64_t height = 0, width = 0, channels = 0;
  int64_t pixels() const { return height * width; }
};

/// Raises InvalidArgument unless `condition` holds. The error names `function` and `image`; `advice` says what to pass.
void require_image(bool condition, std::string_view function, const Tensor& image, std::string_view advice);

/// Returns the sides of an image. Raises InvalidArgument, naming `function`, unless it is uint8 or float32 [height, width,
/// channels] with at least one pixel and one channel.
ImageShape image_shape(const Tensor& image, std::string_view function);

/// Calls fn(T()) with the type T of the pixels. image_shape() must have accepted the image before.
template <class Fn>
auto by_pixel_type(const Tensor& image, Fn&& fn) {
  return image.dtype() == DType::kUInt8 ? fn(uint8_t()) : fn(float());
}

/// The shape of a tensor that has these sides.
inline Shape shape_of(const ImageShape& image) { return Shape{image.height, image.width, image.channels}; }

}  // namespace shoal::data
