// SPDX-License-Identifier: Apache-2.0
// Rotates images.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "image_tensor.h"
#include "pixels.h"
#include "shoal/base/double_math.h"
#include "shoal/base/finite.h"
#include "shoal/data/augment.h"

namespace shoal::data {
namespace {

/// Returns the cosine of an angle in degrees, exact at multiples of 90. fmod() is exact, and so equal on every machine.
double cosine_of_degrees(double degrees) {
  double turned = std::fmod(std::abs(degrees), 360.0);
  if (turned > 180) turned = 360 - turned;
  return double_cos(std::numbers::pi * (turned / 180));
}

/// Interpolates an image at (y, x) from the four nearest pixels; the centre of the first pixel is at (0, 0). Beyond the
/// border, the nearest pixel of the border counts.
template <class T>
class Sampler {
 public:
  Sampler(const T* pixels, const ImageShape& shape, double y, double x) : channels_(shape.channels) {
    const auto first_row = int64_t(y + 1) - 1, first_column = int64_t(x + 1) - 1;  // Rounds down: y and x are at least -1.
    down_ = float(y - double(first_row));
    right_ = float(x - double(first_column));
    const auto row = [&](int64_t i) { return std::clamp<int64_t>(i, 0, shape.height - 1) * shape.width; };
    const auto column = [&](int64_t i) { return std::clamp<int64_t>(i, 0, shape.width - 1); };
    for (int i = 0; i < 4; ++i) corners_[i] = pixels + (row(first_row + i / 2) + column(first_column + i % 2)) * channels_;
  }
  float value(int64_t channel) const {
    const auto along = [&](const T* a, const T* b) {
      return float(a[channel]) + (float(b[channel]) - float(a[channel])) * right_;
    };
    const float above = along(corners_[0], corners_[1]), below = along(corners_[2], corners_[3]);
    return above + (below - above) * down_;
  }

 private:
  int64_t channels_;
  float down_ = 0, right_ = 0;
  const T* corners_[4];
};

}  // namespace

Tensor rotate(const Tensor& image, const RotateOptions& options) {
  const ImageShape shape = image_shape(image, "rotate");
  require_image(is_finite(options.degrees), "rotate", image, "the angle has to be a finite number");
  const double cosine = cosine_of_degrees(options.degrees), sine = cosine_of_degrees(options.degrees - 90);
  const double middle_y = double(shape.height) / 2, middle_x = double(shape.width) / 2;
  Tensor result(image.dtype(), image.shape());
  by_pixel_type(image, [&]<class T>(T) {
    const T* const from = image.as<T>().data();
    T* to = result.mutable_as<T>().data();
    for (int64_t row = 0; row < shape.height; ++row) {
      for (int64_t column = 0; column < shape.width; ++column, to += shape.channels) {
        const double dy = double(row) + 0.5 - middle_y, dx = double(column) + 0.5 - middle_x;
        const double y = sine * dx + cosine * dy + middle_y, x = cosine * dx - sine * dy + middle_x;
        if (y < 0 || x < 0 || y >= double(shape.height) || x >= double(shape.width)) {
          std::fill_n(to, shape.channels, to_pixel<T>(options.fill));
          continue;
        }
        const Sampler<T> sampler(from, shape, y - 0.5, x - 0.5);
        for (int64_t channel = 0; channel < shape.channels; ++channel) to[channel] = to_pixel<T>(sampler.value(channel));
      }
    }
  });
  return result;
}

}  // namespace shoal::data
