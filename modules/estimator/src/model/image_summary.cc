// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/image_summary.h"

#include "shoal/data/images.h"

namespace shoal {

ImageSummary image_summary(std::string name, Value images) {
  const auto fits = [&] {
    if (!images.valid() || images.rank() != 4) return false;
    const Dim& channels = images.shape()[3];
    const bool is_image = images.dtype() == DType::kUInt8 || images.dtype() == DType::kFloat32;
    return is_image && !channels.is_symbol() && channels.size() >= 1 && channels.size() <= 4;
  };
  if (!fits()) {
    const std::string given =
        images.valid() ? std::string(to_string(images.dtype())) + to_string(images.shape()) : std::string("no value");
    raise(invalid_argument("image_summary " + name + ": the images are " + given +
                           "; expected uint8 or float32 [batch, height, width, channels] with 1 to 4 channels"));
  }
  // A build without libpng fails here, when the model is made, and not in the middle of a training.
  if (auto tried = data::encode_png(Tensor(DType::kUInt8, Shape{1, 1, 1})); !tried) {
    raise(std::move(tried).error().with_context("image_summary " + name));
  }
  return {.name = std::move(name), .images = images, .encode = data::encode_png};
}

}  // namespace shoal
