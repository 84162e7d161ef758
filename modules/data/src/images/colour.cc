// SPDX-License-Identifier: Apache-2.0
// Changes brightness, contrast and saturation.
#include <algorithm>
#include <string>
#include <utility>

#include "image_tensor.h"
#include "pixels.h"
#include "shoal/base/finite.h"
#include "shoal/data/augment.h"

namespace shoal::data {
namespace {

ImageShape coloured_shape(const Tensor& image, const char* function, float factor) {
  const ImageShape shape = image_shape(image, function);
  require_image(shape.channels == 1 || shape.channels == 3, function, image, "give 1 or 3 channels");
  require_image(factor >= 0 && is_finite(factor), function, image,
                "the factor is " + std::to_string(factor) + "; give a finite number >= 0");
  return shape;
}

/// Computes base + (x - base) * factor for each value x of a pixel; base_of(pixel) returns the base.
template <class T, class BaseOf>
Tensor moved_from(const Tensor& image, const ImageShape& shape, float factor, BaseOf base_of) {
  Tensor result(image.dtype(), image.shape());
  const T* from = image.as<T>().data();
  T* to = result.mutable_as<T>().data();
  for (int64_t i = 0; i < shape.pixels(); ++i, from += shape.channels) {
    const float base = base_of(from);
    for (int64_t channel = 0; channel < shape.channels; ++channel) {
      *to++ = to_pixel<T>(base + (float(from[channel]) - base) * factor);
    }
  }
  return result;
}

/// Returns the mean luma. For uint8 it is summed exactly, and then rounded.
template <class T>
float mean_luma(const T* pixels, const ImageShape& shape) {
  double sum = 0;
  for (int64_t i = 0; i < shape.pixels(); ++i, pixels += shape.channels) {
    sum += double(shape.channels == 1 ? *pixels : luma_of(pixels));
  }
  const double mean = sum / double(shape.pixels());
  return sizeof(T) == 1 ? float(int64_t(mean + 0.5)) : float(mean);
}

}  // namespace

Tensor adjust_brightness(const Tensor& image, float factor) {
  const ImageShape shape = coloured_shape(image, "adjust_brightness", factor);
  return by_pixel_type(image,
                       [&]<class T>(T) { return moved_from<T>(image, shape, factor, [](const T*) { return 0.0f; }); });
}

Tensor adjust_contrast(const Tensor& image, float factor) {
  const ImageShape shape = coloured_shape(image, "adjust_contrast", factor);
  return by_pixel_type(image, [&]<class T>(T) {
    const float mean = mean_luma(image.as<T>().data(), shape);
    return moved_from<T>(image, shape, factor, [mean](const T*) { return mean; });
  });
}

Tensor adjust_saturation(const Tensor& image, float factor) {
  const ImageShape shape = coloured_shape(image, "adjust_saturation", factor);
  if (shape.channels == 1) return image;
  return by_pixel_type(image, [&]<class T>(T) {
    return moved_from<T>(image, shape, factor, [](const T* rgb) { return float(luma_of(rgb)); });
  });
}

Tensor color_jitter(const Tensor& image, const ColorJitterOptions& options, RandomStream& random) {
  using Adjust = Tensor (*)(const Tensor&, float);
  struct Step {
    Adjust adjust;
    float strength;
    float factor = 1;
  };
  Step steps[] = {{adjust_brightness, options.brightness},
                  {adjust_contrast, options.contrast},
                  {adjust_saturation, options.saturation}};
  for (Step& step : steps) {
    coloured_shape(image, "color_jitter", step.strength);
    const float low = std::max(0.0f, 1 - step.strength), high = 1 + step.strength;
    step.factor = low + (high - low) * random.next_float();
  }
  std::swap(steps[0], steps[random.below(3)]);
  std::swap(steps[1], steps[1 + random.below(2)]);
  Tensor result = image;
  for (const Step& step : steps) {
    if (step.strength > 0) result = step.adjust(result, step.factor);
  }
  return result;
}

}  // namespace shoal::data
