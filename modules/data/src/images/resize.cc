// SPDX-License-Identifier: Apache-2.0
// Resizes images.
#include <algorithm>
#include <cmath>
#include <vector>

#include "image_tensor.h"
#include "pixels.h"
#include "shoal/base/double_math.h"
#include "shoal/data/augment.h"

namespace shoal::data {
namespace {

/// The old pixels of a line that make one new pixel, and their weights, whose sum is 1.
struct Neighbours {
  int64_t first = 0;
  std::vector<float> weights;
};

/// A line of `old_size` pixels is resized to `size`: returns the old pixels that make each new one. The weights form
/// a triangle around the new pixel's centre, as wide as two new pixels if the line gets shorter, else as two old ones.
std::vector<Neighbours> neighbours(int64_t old_size, int64_t size) {
  const double scale = double(old_size) / double(size);
  const double reach = std::max(scale, 1.0);
  std::vector<Neighbours> all;
  all.resize(size_t(size));
  for (int64_t i = 0; i < size; ++i) {
    const double centre = (double(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, int64_t(centre - reach + 0.5));
    const auto end = std::clamp<int64_t>(int64_t(centre + reach + 0.5), first + 1, old_size);
    std::vector<double> heights;
    double sum = 0;
    for (int64_t j = first; j < end; ++j) {
      heights.push_back(std::max(0.0, 1 - std::abs(double(j) + 0.5 - centre) / reach));
      sum += heights.back();
    }
    all[size_t(i)].first = first;
    for (const double height : heights) all[size_t(i)].weights.push_back(float(height / sum));
  }
  return all;
}

/// Resizes [height, width, channels] to [height, new width, channels], as float.
template <class T>
std::vector<float> resized_rows(const T* from, const ImageShape& shape, const std::vector<Neighbours>& columns) {
  std::vector<float> rows(size_t(shape.height) * columns.size() * size_t(shape.channels));
  float* to = rows.data();
  for (int64_t row = 0; row < shape.height; ++row, from += shape.width * shape.channels) {
    for (const Neighbours& column : columns) {
      for (int64_t channel = 0; channel < shape.channels; ++channel) {
        const T* pixel = from + column.first * shape.channels + channel;
        float sum = 0;
        for (const float weight : column.weights) {
          sum += weight * float(*pixel);
          pixel += shape.channels;
        }
        *to++ = sum;
      }
    }
  }
  return rows;
}

/// Resizes the height: computes each of the new `rows` as a weighted sum of old rows, which have `width` values each.
template <class T>
void resize_columns(const std::vector<float>& from, size_t width, const std::vector<Neighbours>& rows, T* to) {
  std::vector<float> sums(width);
  for (const Neighbours& row : rows) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    const float* values = from.data() + size_t(row.first) * width;
    for (const float weight : row.weights) {
      for (size_t i = 0; i < width; ++i) sums[i] += weight * values[i];
      values += width;
    }
    for (size_t i = 0; i < width; ++i) *to++ = to_pixel<T>(sums[i]);
  }
}

Tensor resized_bilinear(const Tensor& image, const ImageShape& shape, ImageSize size) {
  Tensor result(image.dtype(), Shape{size.height, size.width, shape.channels});
  by_pixel_type(image, [&]<class T>(T) {
    const std::vector<float> rows = resized_rows(image.as<T>().data(), shape, neighbours(shape.width, size.width));
    resize_columns(rows, size_t(size.width * shape.channels), neighbours(shape.height, size.height),
                   result.mutable_as<T>().data());
  });
  return result;
}

/// Returns the old pixel in whose area the centre of the new pixel lies.
int64_t nearest(int64_t i, int64_t old_size, int64_t size) { return (2 * i + 1) * old_size / (2 * size); }

Tensor resized_nearest(const Tensor& image, const ImageShape& shape, ImageSize size) {
  Tensor result(image.dtype(), Shape{size.height, size.width, shape.channels});
  by_pixel_type(image, [&]<class T>(T) {
    const T* const from = image.as<T>().data();
    T* to = result.mutable_as<T>().data();
    for (int64_t row = 0; row < size.height; ++row) {
      const T* const line = from + nearest(row, shape.height, size.height) * shape.width * shape.channels;
      for (int64_t column = 0; column < size.width; ++column) {
        to = std::copy_n(line + nearest(column, shape.width, size.width) * shape.channels, shape.channels, to);
      }
    }
  });
  return result;
}

double uniform_between(double low, double high, RandomStream& random) {
  return low + (high - low) * double(random.next_float());
}

/// Returns the largest part in the middle of the image whose ratio is in the range.
ImageBox part_in_the_middle(const ImageShape& shape, const RandomResizedCropOptions& options) {
  const double ratio = double(shape.width) / double(shape.height);
  ImageBox box{0, 0, shape.height, shape.width};
  if (ratio < options.ratio_min) box.height = int64_t(double(shape.width) / options.ratio_min + 0.5);
  if (ratio > options.ratio_max) box.width = int64_t(double(shape.height) * options.ratio_max + 0.5);
  box.height = std::clamp<int64_t>(box.height, 1, shape.height);
  box.width = std::clamp<int64_t>(box.width, 1, shape.width);
  box.top = (shape.height - box.height) / 2;
  box.left = (shape.width - box.width) / 2;
  return box;
}

ImageBox random_part(const ImageShape& shape, const RandomResizedCropOptions& options, RandomStream& random) {
  constexpr int kTries = 10;
  const double log_min = double_log(options.ratio_min), log_max = double_log(options.ratio_max);
  for (int i = 0; i < kTries; ++i) {
    const double area = double(shape.pixels()) * uniform_between(options.area_min, options.area_max, random);
    const double ratio = double_exp(uniform_between(log_min, log_max, random));
    // std::sqrt rounds correctly on every machine, so equal random numbers give the same box everywhere.
    const double width = std::sqrt(area * ratio) + 0.5, height = std::sqrt(area / ratio) + 0.5;
    if (width < 1 || height < 1 || width >= double(shape.width + 1) || height >= double(shape.height + 1)) continue;
    ImageBox box{0, 0, int64_t(height), int64_t(width)};
    box.top = int64_t(random.below(uint64_t(shape.height - box.height + 1)));
    box.left = int64_t(random.below(uint64_t(shape.width - box.width + 1)));
    return box;
  }
  return part_in_the_middle(shape, options);
}

}  // namespace

Tensor resize(const Tensor& image, ImageSize size, ResizeMethod method) {
  const ImageShape shape = image_shape(image, "resize");
  constexpr int64_t kSideMax = int64_t(1) << 30;
  require_image(
      size.height >= 1 && size.width >= 1 && size.height <= kSideMax && size.width <= kSideMax, "resize", image,
      "its new sides are " + std::to_string(size.height) + " and " + std::to_string(size.width) + "; give 1 to 2^30");
  return method == ResizeMethod::kNearest ? resized_nearest(image, shape, size) : resized_bilinear(image, shape, size);
}

Tensor random_resized_crop(const Tensor& image, const RandomResizedCropOptions& options, RandomStream& random) {
  const ImageShape shape = image_shape(image, "random_resized_crop");
  require_image(options.area_min > 0 && options.area_min <= options.area_max && options.area_max <= 1,
                "random_resized_crop", image, "the shares of the area have to be 0 < area_min <= area_max <= 1");
  constexpr double kRatioMax = 1e6;
  require_image(
      options.ratio_min >= 1 / kRatioMax && options.ratio_min <= options.ratio_max && options.ratio_max <= kRatioMax,
      "random_resized_crop", image, "the ratios have to be 1e-6 <= ratio_min <= ratio_max <= 1e6");
  return resize(crop(image, random_part(shape, options, random)), {.height = options.height, .width = options.width});
}

}  // namespace shoal::data
