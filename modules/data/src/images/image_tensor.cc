// SPDX-License-Identifier: Apache-2.0
#include "image_tensor.h"

#include "shoal/base/error.h"

namespace shoal::data {

void require_image(bool condition, std::string_view function, const Tensor& image, std::string_view advice) {
  if (condition) return;
  raise(invalid_argument(std::string(function) + ": the image is " + std::string(to_string(image.dtype())) + " " +
                         to_string(image.shape()) + "; " + std::string(advice)));
}

ImageShape image_shape(const Tensor& image, std::string_view function) {
  const bool has_pixels = image.dtype() == DType::kUInt8 || image.dtype() == DType::kFloat32;
  require_image(has_pixels && image.shape().rank() == 3 && image.elements() > 0, function, image,
                "give uint8 or float32 [height, width, channels], of at least one pixel");
  return {image.shape()[0], image.shape()[1], image.shape()[2]};
}

}  // namespace shoal::data
