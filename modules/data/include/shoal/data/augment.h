// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Changes of images for training: crops, flips, sizes, angles, colours, mixtures. Each is a function of its arguments
/// alone.
///
///   images.map([](Element one, RandomStream& random) -> Element {
///     Tensor& image = one.features.single();
///     image = random_flip(random_crop(image, {.height = 32, .width = 32, .padding = 4}, random), random);
///     return one; }, {.parallel = 4})
///
/// An image is uint8 or float32 [height, width, channels] with at least one pixel and one channel, and stays of its type
/// unless a function says otherwise. Values of uint8 are 0 to 255 and are rounded to the nearest; those of float32 are in
/// any units, and are not cut off anywhere. Each function raises InvalidArgument, naming itself, type and shape, for a
/// tensor that is no image, and for options out of the ranges that are told here.
///
/// Equal arguments and equal random numbers give equal bits on every machine: the arithmetic is of single operations in a
/// fixed order, without functions of the C library. A function with random numbers draws as many of them whatever the image
/// has in its pixels.
#include <cstdint>
#include <span>

#include "shoal/base/random.h"
#include "shoal/base/tensor.h"
#include "shoal/data/element.h"
#include "shoal/data/images.h"

namespace shoal::data {

// ---- Parts and mirror images -----------------------------------------------------------------------------------

/// A rectangle of pixels. Row `top` and column `left`, counted from 0, are in it.
struct ImageBox {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
};

/// The part of `image` in `box`: [box.height, box.width, channels]. Raises InvalidArgument for a box that is empty or does
/// not lie within the image.
Tensor crop(const Tensor& image, ImageBox box);

struct RandomCropOptions {
  int64_t height = 0;   ///< Pixels, >= 1, at most those of the image with its padding.
  int64_t width = 0;    ///< The same.
  int64_t padding = 0;  ///< Pixels that are put around the image at all four sides first, >= 0.
  float fill = 0;       ///< The value of these, in the units of the image.
};
/// A part of that size, whose place is drawn uniformly from all in which it lies within the padded image. Raises
/// InvalidArgument where it fits nowhere.
Tensor random_crop(const Tensor& image, const RandomCropOptions& options, RandomStream& random);

/// The mirror image: the first column becomes the last.
Tensor flip_left_right(const Tensor& image);
/// The mirror image with the probability 1/2, else the image itself, which is not copied.
Tensor random_flip(const Tensor& image, RandomStream& random);

struct CutOutOptions {
  int64_t size = 16;  ///< The side of the square, in pixels, >= 1.
  float fill = 0;     ///< Its value, in the units of the image.
};
/// A square of one value, whose centre is drawn uniformly from the pixels of the image; what lies beyond the border is cut
/// off. Source: DeVries and Taylor, "Improved regularization of convolutional neural networks with Cutout" (2017).
Tensor cut_out(const Tensor& image, const CutOutOptions& options, RandomStream& random);

// ---- Sizes and angles ------------------------------------------------------------------------------------------

enum class ResizeMethod {
  kBilinear,  ///< A weighted mean of neighbours; where the image gets smaller, of all pixels that become one.
  kNearest,   ///< The pixel whose centre is nearest.
};
/// `image` with other sides, both >= 1. kBilinear has the weights of a triangle, as wide as two pixels of the larger scale,
/// first along rows, then along columns. It differs by 1 at most from Pillow's BILINEAR for uint8, which rounds in between.
Tensor resize(const Tensor& image, ImageSize size, ResizeMethod method = ResizeMethod::kBilinear);

struct RandomResizedCropOptions {
  int64_t height = 0;  ///< Of the result, in pixels, >= 1.
  int64_t width = 0;   ///< The same.
  /// The area of the part, as a share of the image's: drawn uniformly. 0 < area_min <= area_max <= 1.
  double area_min = 0.08;
  double area_max = 1;
  /// The width of the part by its height: its logarithm is drawn uniformly. 1e-6 <= ratio_min <= ratio_max <= 1e6.
  double ratio_min = 3.0 / 4;
  double ratio_max = 4.0 / 3;
};
/// A part of the image, resized by kBilinear. Area and ratio are drawn up to ten times until a part with them fits, and its
/// place is drawn then; else it is the largest part in the middle with a ratio in the range. Source: the documentation of
/// torchvision's RandomResizedCrop; Szegedy et al., "Going deeper with convolutions" (2015), section 6.
Tensor random_resized_crop(const Tensor& image, const RandomResizedCropOptions& options, RandomStream& random);

struct RotateOptions {
  double degrees = 0;  ///< Counter-clockwise, any finite number.
  float fill = 0;      ///< What lies outside of the image becomes this, in its units.
};
/// The image turned about its middle, bilinear, with the sides that it had.
Tensor rotate(const Tensor& image, const RotateOptions& options);

// ---- Colours ---------------------------------------------------------------------------------------------------
// Images have 1 or 3 channels here. A factor is >= 0 and finite: 1 changes nothing, 0 leaves nothing of what it is of, and
// more than 1 gives more of it. The luma of three channels is 0.299 red + 0.587 green + 0.114 blue.

/// Each value times `factor`.
Tensor adjust_brightness(const Tensor& image, float factor);
/// The distance of each value from the mean luma of the image times `factor`. The mean is rounded for uint8.
Tensor adjust_contrast(const Tensor& image, float factor);
/// The distance of each value from the luma of its pixel times `factor`. An image of one channel stays as it is.
Tensor adjust_saturation(const Tensor& image, float factor);

struct ColorJitterOptions {
  // Each factor is drawn uniformly from max(0, 1 - x) to 1 + x, for x >= 0.
  float brightness = 0;
  float contrast = 0;
  float saturation = 0;
};
/// These three by factors that are drawn, in an order that is drawn.
Tensor color_jitter(const Tensor& image, const ColorJitterOptions& options, RandomStream& random);

// ---- Numbers ---------------------------------------------------------------------------------------------------

/// (x - mean) / stddev, by channel: float32 of the same shape. `image` may be a batch of images [n, height, width,
/// channels] as well. Values of uint8 are divided by 255 first, so that mean and stddev are those of values from 0 to 1, in
/// which they are usually told. Raises InvalidArgument unless there are as many of both as channels, or one for all, and
/// each stddev is > 0.
Tensor normalize(const Tensor& image, std::span<const float> mean, std::span<const float> stddev);

/// Classes as vectors: float32 [..., classes] with 1 at the class and 0 elsewhere, of int64 labels [...]. Raises
/// InvalidArgument for another type, and for a label outside of [0, classes).
Tensor one_hot(const Tensor& labels, int64_t classes);

struct MixUpOptions {
  double alpha = 0.2;  ///< 1e-6 to 1e6. The smaller it is, the nearer is a mixture to one of its two examples.
};
/// A batch mixed with itself in another order: lambda x + (1 - lambda) x' for features and labels, with one lambda of
/// Beta(alpha, alpha) for the batch. It belongs behind Dataset::batch().
///
///   batch      features: a lone float32 tensor [n, ...]; labels: a lone float32 tensor [n, classes] (one_hot())
///   returns    the same names, types and shapes
///
/// Raises InvalidArgument for a batch of another form, and for alpha out of range. Sources: Zhang et al., "mixup: beyond
/// empirical risk minimization" (2018). Beta: Johnk (1964) where alpha is at most 1, else Cheng, "Generating beta variates
/// with nonintegral shape parameters" (1978), algorithm BB.
Element mix_up(const Element& batch, MixUpOptions options, RandomStream& random);

}  // namespace shoal::data
