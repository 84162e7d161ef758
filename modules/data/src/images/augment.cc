// SPDX-License-Identifier: Apache-2.0
// Crops, mirrors, normalizes images and makes one-hot labels.
#include "shoal/data/augment.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "image_tensor.h"
#include "pixels.h"
#include "shoal/base/finite.h"

namespace shoal::data {
namespace {

/// The number of bytes of a pixel.
size_t pixel_bytes(const Tensor& image) { return size_t(image.shape()[2]) * size_of(image.dtype()); }

/// Writes `value` to the pixels of a box that lies within the image.
void fill_box(Tensor& image, ImageBox box, float value) {
  const int64_t width = image.shape()[1], channels = image.shape()[2];
  by_pixel_type(image, [&]<class T>(T) {
    T* const pixels = image.mutable_as<T>().data();
    for (int64_t row = box.top; row < box.top + box.height; ++row) {
      std::fill_n(pixels + (row * width + box.left) * channels, box.width * channels, to_pixel<T>(value));
    }
  });
}

/// Returns the part of `box` that lies within an image of these sides.
ImageBox within(ImageBox box, const ImageShape& image) {
  const int64_t top = std::clamp<int64_t>(box.top, 0, image.height), left = std::clamp<int64_t>(box.left, 0, image.width);
  const int64_t bottom = std::clamp<int64_t>(box.top + box.height, top, image.height);
  const int64_t right = std::clamp<int64_t>(box.left + box.width, left, image.width);
  return {top, left, bottom - top, right - left};
}

/// Returns the pixels in `box`; those beyond the image have the value `fill`.
Tensor part_of(const Tensor& image, const ImageShape& shape, ImageBox box, float fill) {
  Tensor part(image.dtype(), Shape{box.height, box.width, shape.channels});
  const ImageBox inside = within(box, shape);
  if (inside.height != box.height || inside.width != box.width) fill_box(part, {0, 0, box.height, box.width}, fill);
  const size_t bytes = pixel_bytes(image);
  const std::byte* const from = image.view().data;
  std::byte* const to = part.mutable_view().data;
  for (int64_t row = 0; row < inside.height && inside.width > 0; ++row) {
    const int64_t from_pixel = (inside.top + row) * shape.width + inside.left;
    const int64_t to_pixel_number = (inside.top - box.top + row) * box.width + inside.left - box.left;
    std::memcpy(to + size_t(to_pixel_number) * bytes, from + size_t(from_pixel) * bytes, size_t(inside.width) * bytes);
  }
  return part;
}

std::string box_text(ImageBox box) {
  return std::to_string(box.height) + " x " + std::to_string(box.width) + " at row " + std::to_string(box.top) +
         " and column " + std::to_string(box.left);
}

}  // namespace

Tensor crop(const Tensor& image, ImageBox box) {
  const ImageShape shape = image_shape(image, "crop");
  const bool fits = box.top >= 0 && box.left >= 0 && box.height >= 1 && box.width >= 1 && box.height <= shape.height &&
                    box.width <= shape.width && box.top <= shape.height - box.height && box.left <= shape.width - box.width;
  require_image(fits, "crop", image, "a part of " + box_text(box) + " does not lie within it, or is empty");
  return part_of(image, shape, box, 0);
}

Tensor random_crop(const Tensor& image, const RandomCropOptions& options, RandomStream& random) {
  const ImageShape shape = image_shape(image, "random_crop");
  constexpr int64_t kPaddingMax = int64_t(1) << 30;
  require_image(options.padding >= 0 && options.padding <= kPaddingMax, "random_crop", image,
                "padding is " + std::to_string(options.padding) + "; give 0 to 2^30");
  const int64_t height = shape.height + 2 * options.padding, width = shape.width + 2 * options.padding;
  require_image(options.height >= 1 && options.width >= 1 && options.height <= height && options.width <= width,
                "random_crop", image,
                "a part of " + std::to_string(options.height) + " x " + std::to_string(options.width) +
                    " does not fit into it with a padding of " + std::to_string(options.padding) + ", or is empty");
  const auto top = int64_t(random.below(uint64_t(height - options.height + 1))) - options.padding;
  const auto left = int64_t(random.below(uint64_t(width - options.width + 1))) - options.padding;
  return part_of(image, shape, {top, left, options.height, options.width}, options.fill);
}

Tensor flip_left_right(const Tensor& image) {
  const ImageShape shape = image_shape(image, "flip_left_right");
  Tensor flipped(image.dtype(), image.shape());
  by_pixel_type(image, [&]<class T>(T) {
    const T* from = image.as<T>().data();
    T* const to = flipped.mutable_as<T>().data();
    for (int64_t row = 0; row < shape.height; ++row) {
      T* pixel = to + (row + 1) * shape.width * shape.channels;
      for (int64_t column = 0; column < shape.width; ++column, from += shape.channels) {
        pixel -= shape.channels;
        std::copy_n(from, shape.channels, pixel);
      }
    }
  });
  return flipped;
}

Tensor random_flip(const Tensor& image, RandomStream& random) {
  image_shape(image, "random_flip");
  return random.below(2) == 1 ? flip_left_right(image) : image;
}

Tensor cut_out(const Tensor& image, const CutOutOptions& options, RandomStream& random) {
  const ImageShape shape = image_shape(image, "cut_out");
  constexpr int64_t kSizeMax = int64_t(1) << 30;
  require_image(options.size >= 1 && options.size <= kSizeMax, "cut_out", image,
                "size is " + std::to_string(options.size) + "; give 1 to 2^30");
  const auto row = int64_t(random.below(uint64_t(shape.height))), column = int64_t(random.below(uint64_t(shape.width)));
  Tensor result = image.clone();
  fill_box(result, within({row - options.size / 2, column - options.size / 2, options.size, options.size}, shape),
           options.fill);
  return result;
}

Tensor normalize(const Tensor& image, std::span<const float> mean, std::span<const float> stddev) {
  const int rank = image.shape().rank();
  const bool has_pixels = image.dtype() == DType::kUInt8 || image.dtype() == DType::kFloat32;
  require_image(has_pixels && (rank == 3 || rank == 4) && image.elements() > 0, "normalize", image,
                "give uint8 or float32 [height, width, channels], or a batch of such images");
  const auto channels = size_t(image.shape()[rank - 1]);
  require_image((mean.size() == channels || mean.size() == 1) && (stddev.size() == channels || stddev.size() == 1),
                "normalize", image,
                "there are " + std::to_string(mean.size()) + " means and " + std::to_string(stddev.size()) +
                    " standard deviations; give one for each channel, or one for all");
  for (size_t i = 0; i < stddev.size(); ++i) {
    require_image(stddev[i] > 0 && is_finite(stddev[i]) && is_finite(mean[std::min(i, mean.size() - 1)]), "normalize",
                  image, "each mean has to be finite, and each standard deviation above 0");
  }
  Tensor result(DType::kFloat32, image.shape());
  const std::span<float> out = result.mutable_as<float>();
  by_pixel_type(image, [&]<class T>(T) {
    const std::span<const T> in = image.as<T>();
    constexpr float kScale = sizeof(T) == 1 ? 255.0f : 1.0f;
    for (size_t channel = 0; channel < channels; ++channel) {
      const float m = mean[mean.size() == 1 ? 0 : channel], s = stddev[stddev.size() == 1 ? 0 : channel];
      for (size_t i = channel; i < in.size(); i += channels) out[i] = (float(in[i]) / kScale - m) / s;
    }
  });
  return result;
}

Tensor one_hot(const Tensor& labels, int64_t classes) {
  const auto refuse = [&](bool condition, const std::string& what) {
    if (!condition) raise(invalid_argument("one_hot: " + what));
  };
  refuse(labels.dtype() == DType::kInt64 && labels.shape().rank() < Shape::kRankMax,
         "the labels are " + std::string(to_string(labels.dtype())) + " " + to_string(labels.shape()) + "; give int64");
  refuse(classes >= 1, "there are " + std::to_string(classes) + " classes; give 1 or more");
  std::vector<int64_t> dims(labels.shape().dims().begin(), labels.shape().dims().end());
  dims.push_back(classes);
  Tensor result = Tensor::zeros(DType::kFloat32, Shape(std::span<const int64_t>(dims)));
  const std::span<float> out = result.mutable_as<float>();
  size_t row = 0;
  for (const int64_t label : labels.as<int64_t>()) {
    refuse(label >= 0 && label < classes, "label " + std::to_string(row) + " is " + std::to_string(label) +
                                              ", and there are " + std::to_string(classes) + " classes");
    out[row++ * size_t(classes) + size_t(label)] = 1;
  }
  return result;
}

}  // namespace shoal::data
