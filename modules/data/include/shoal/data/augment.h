// SPDX-License-Identifier: Apache-2.0
#pragma once
/// These functions change images for training: crops, flips, sizes, angles, colours, mixtures. The result of each follows
/// from its arguments alone.
///
///   images.map([](Element one, RandomStream& random) -> Element {
///     Tensor& image = one.features.single();
///     image = random_flip(random_crop(image, {.height = 32, .width = 32, .padding = 4}, random), random);
///     return one; }, {.parallel = 4})
///
/// An image is a tensor of uint8 or float32, [height, width, channels], with at least one pixel and one channel. The result
/// has the type of the image unless a function says otherwise. Results of uint8 are rounded to the nearest of 0 to 255.
/// Values of float32 may have any units, and no function limits them. Each function raises InvalidArgument for a tensor
/// that is no image and for options out of range; the sentence names the function, the type and the shape.
///
/// Equal arguments and equal random numbers give equal bits on every machine. The arithmetic has a fixed order, and it
/// calls no function of the C library whose bits differ between machines. How many random numbers a function draws does not
/// depend on the values of the pixels.
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

/// Returns the part of `image` in `box`: [box.height, box.width, channels]. Raises InvalidArgument for a box that is empty
/// or does not lie within the image.
Tensor crop(const Tensor& image, ImageBox box);

struct RandomCropOptions {
  int64_t height = 0;   ///< In pixels, >= 1, at most the height of the padded image.
  int64_t width = 0;    ///< The same.
  int64_t padding = 0;  ///< Pixels that are put around each of the four sides before the crop, >= 0.
  float fill = 0;       ///< The value of these added pixels, in the units of the image.
};
/// Returns a part of this height and width. Its place is drawn uniformly from all places in the padded image. Raises
/// InvalidArgument where the padded image is smaller than the part.
Tensor random_crop(const Tensor& image, const RandomCropOptions& options, RandomStream& random);

/// Returns the mirror image: the first column becomes the last one.
Tensor flip_left_right(const Tensor& image);
/// Returns the mirror image with the probability 1/2, and otherwise the image, which then shares its storage.
Tensor random_flip(const Tensor& image, RandomStream& random);

struct CutOutOptions {
  int64_t size = 16;  ///< The side of the square, in pixels, >= 1.
  float fill = 0;     ///< The value of the pixels in the square, in the units of the image.
};
/// Returns the image with a square of one value in it. The centre of the square is drawn uniformly from the pixels of the
/// image, so that a part of the square may lie beyond the border. Source: DeVries and Taylor, "Improved regularization of
/// convolutional neural networks with Cutout" (2017).
Tensor cut_out(const Tensor& image, const CutOutOptions& options, RandomStream& random);

// ---- Sizes and angles ------------------------------------------------------------------------------------------

enum class ResizeMethod {
  kBilinear,  ///< A new pixel is the weighted mean of old ones around it. Every old pixel is used.
  kNearest,   ///< A new pixel is the old one whose centre is nearest to the new one's.
};
/// Returns the image with the sides of `size`, both >= 1. With kBilinear, each new pixel is a weighted mean of old ones.
/// The weight falls linearly with the distance between the centres of the two pixels, to 0 at a distance of one pixel (a
/// new one if the image shrinks, else an old one). Rows are resized first. Pillow's BILINEAR rounds uint8 after the rows,
/// and so differs by at most 1.
Tensor resize(const Tensor& image, ImageSize size, ResizeMethod method = ResizeMethod::kBilinear);

struct RandomResizedCropOptions {
  int64_t height = 0;  ///< Height of the result in pixels, >= 1.
  int64_t width = 0;   ///< The same.
  /// The share of the image's area that the part has, drawn uniformly. 0 < area_min <= area_max <= 1.
  double area_min = 0.08;
  double area_max = 1;
  /// The width of the part divided by its height; the logarithm is drawn uniformly. 1e-6 <= ratio_min <= ratio_max <= 1e6.
  double ratio_min = 3.0 / 4;
  double ratio_max = 4.0 / 3;
};
/// Returns a part of the image, resized by kBilinear. Area and ratio are drawn until a part with them fits into the image,
/// ten times at most; then its place is drawn uniformly. If no part fits, the result is made of the largest part in the
/// middle whose ratio is in the range. Source: the documentation of torchvision's RandomResizedCrop; Szegedy et al., "Going
/// deeper with convolutions" (2015), section 6.
Tensor random_resized_crop(const Tensor& image, const RandomResizedCropOptions& options, RandomStream& random);

struct RotateOptions {
  double degrees = 0;  ///< The angle, counter-clockwise; any finite number.
  float fill = 0;      ///< The value of new pixels whose centre lies outside of the old image.
};
/// Returns the image turned about its middle. It keeps its height and width, and new pixels are weighted means of four old
/// ones (bilinear).
Tensor rotate(const Tensor& image, const RotateOptions& options);

// ---- Colours ---------------------------------------------------------------------------------------------------
// Images have 1 or 3 channels here. A factor is a finite number >= 0, and 1 changes nothing. The luma of a pixel of three
// channels is 0.299 red + 0.587 green + 0.114 blue, and that of one channel is its value.

/// Multiplies each value by `factor`. 0 gives black.
Tensor adjust_brightness(const Tensor& image, float factor);
/// Multiplies the distance of each value from the mean luma of the image by `factor`. 0 gives one shade of grey. The mean
/// is rounded for uint8.
Tensor adjust_contrast(const Tensor& image, float factor);
/// Multiplies the distance of each value from the luma of its pixel by `factor`. 0 gives shades of grey. An image of one
/// channel stays as it is.
Tensor adjust_saturation(const Tensor& image, float factor);
/// Turns the hue of each pixel by so many turns of the colour circle, -0.5 to 0.5 (1/3 makes red green), and keeps the
/// largest and the least value of the pixel. Grey pixels, pixels with NaN or infinite
/// values, and images of one channel stay as they are.
Tensor adjust_hue(const Tensor& image, float turns);

struct ColorJitterOptions {
  float brightness = 0;  ///< The factor is drawn uniformly from max(0, 1 - x) to 1 + x, where x >= 0 is this number.
  float contrast = 0;    ///< The same.
  float saturation = 0;  ///< The same.
  float hue = 0;         ///< The hue is turned by -hue to hue, drawn uniformly; 0 to 0.5.
};
/// Adjusts brightness, contrast and saturation, each by a factor that is drawn for it alone. The order of the three
/// adjustments is drawn, too. Then turns the hue, if `hue` is more than 0.
Tensor color_jitter(const Tensor& image, const ColorJitterOptions& options, RandomStream& random);

// ---- Numbers ---------------------------------------------------------------------------------------------------

/// Returns (x - mean) / stddev for each value x, with the mean and the stddev of its channel: float32 of the same shape.
/// `image` may also be a batch of images, [n, height, width, channels]. Values of uint8 are divided by 255 before, so that
/// mean and stddev are those of values from 0 to 1. Raises InvalidArgument unless `mean` and `stddev` have one number for
/// each channel, or one for all, which are finite, and each stddev is > 0.
Tensor normalize(const Tensor& image, std::span<const float> mean, std::span<const float> stddev);

/// Makes a one-hot vector of each label: float32 [..., classes] from int64 [...], with 1 at the class and 0 elsewhere.
/// Raises InvalidArgument for labels of another type, and for a label outside of [0, classes).
Tensor one_hot(const Tensor& labels, int64_t classes);

struct MixUpOptions {
  double alpha = 0.2;  ///< 1e-6 to 1e6. If alpha is small, most mixtures are close to one of the examples.
};
/// Mixes each example x of a batch with another example x' of that batch: lambda x + (1 - lambda) x', for features and
/// labels. The examples x' are those of the batch in an order that is drawn uniformly (x' may be x), and one lambda is
/// drawn for the whole batch from the distribution Beta(alpha, alpha). Call this in a map() behind Dataset::batch().
///
///   batch      features: a lone float32 tensor [n, ...]; labels: a lone float32 tensor [n, classes] (one_hot())
///   returns    the same names, types and shapes; a head of several classes (nn/head.h) takes such labels
///
/// Raises InvalidArgument for a batch of another form, and for alpha out of range. Sources: Zhang et al., "mixup: beyond
/// empirical risk minimization" (2018). Beta: Johnk (1964) where alpha is at most 1, else Cheng, "Generating beta variates
/// with nonintegral shape parameters" (1978), algorithm BB.
Element mix_up(const Element& batch, MixUpOptions options, RandomStream& random);

}  // namespace shoal::data
