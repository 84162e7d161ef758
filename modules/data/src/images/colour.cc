// SPDX-License-Identifier: Apache-2.0
// Changes brightness, contrast, saturation and hue.
#include <algorithm>
#include <cmath>
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

/// Turns the hue of a pixel by so many sixths of a turn, and keeps its largest and its least value. Source: Smith, "Color
/// gamut transform pairs" (1978), with one formula for the six sectors of the hue.
template <class T>
void turn_hue(const T* rgb, float sixths, T* to) {
  const float red = float(rgb[0]), green = float(rgb[1]), blue = float(rgb[2]);
  const float most = std::max({red, green, blue});
  const float chroma = most - std::min({red, green, blue});
  // A shade of grey has no hue, and neither have pixels with infinite values or NaN: the sum is NaN or infinite there.
  if (!(chroma > 0) || !is_finite(chroma + red + green + blue)) {
    std::copy_n(rgb, 3, to);
    return;
  }
  const float hue = most == red     ? (green - blue) / chroma
                    : most == green ? 2 + (blue - red) / chroma
                                    : 4 + (red - green) / chroma;
  constexpr float kSectors[] = {5, 3, 1};
  for (int channel = 0; channel < 3; ++channel) {
    float sector = kSectors[channel] + hue + sixths;
    sector -= 6 * std::floor(sector / 6);
    to[channel] = to_pixel<T>(most - chroma * std::clamp(std::min(sector, 4 - sector), 0.0f, 1.0f));
  }
}

/// Returns the mean luma of an image's pixels. For uint8 the sum is exact, and the mean is rounded to an integer.
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

Tensor adjust_hue(const Tensor& image, float turns) {
  const ImageShape shape = coloured_shape(image, "adjust_hue", 1);
  require_image(turns >= -0.5f && turns <= 0.5f, "adjust_hue", image,
                "the hue is to be turned by " + std::to_string(turns) + " turns; give -0.5 to 0.5");
  if (shape.channels == 1 || turns == 0) return image;
  return by_pixel_type(image, [&]<class T>(T) {
    Tensor result(image.dtype(), image.shape());
    const T* from = image.as<T>().data();
    T* to = result.mutable_as<T>().data();
    for (int64_t i = 0; i < shape.pixels(); ++i, from += 3, to += 3) turn_hue(from, 6 * turns, to);
    return result;
  });
}

Tensor color_jitter(const Tensor& image, const ColorJitterOptions& options, RandomStream& random) {
  using Adjust = Tensor (*)(const Tensor&, float);
  struct Step {
    Adjust adjust;
    float strength;
    float factor = 1;
  };
  require_image(options.hue >= 0 && options.hue <= 0.5f, "color_jitter", image,
                "hue is " + std::to_string(options.hue) + "; give 0 to 0.5");
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
  if (options.hue > 0) result = adjust_hue(result, options.hue * (2 * random.next_float() - 1));
  return result;
}

}  // namespace shoal::data
