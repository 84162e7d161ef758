// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Measures the mean and the standard deviation of each channel of images in one pass, to normalize images by them.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/learned.h"
#include "shoal/base/result.h"
#include "shoal/data/dataset.h"

namespace shoal::data {

/// The mean and standard deviation of each channel, for normalize(image, statistics.mean, statistics.stddev).
struct ChannelStatistics {
  int64_t pixel_count = 0;       ///< The number of pixels of all images together.
  std::vector<float> mean = {};  ///< Mean of each channel. Values of uint8 images are divided by 255 first.
  std::vector<float> stddev =
      {};  ///< Standard deviation of each channel, with the number of pixels as divisor; 0 where all values are equal.
};

struct ChannelStatisticsOptions {
  std::string feature = {};  ///< The name of the feature that has the images. "": the only feature, without a name.
  /// The environment in which the dataset's files are read, for example RunConfig::environment(). A stop request to it ends
  /// the reading with Cancelled. Null: the files of this machine are read.
  std::shared_ptr<Environment> env = nullptr;
};

/// Reads all images of `dataset`, which must end: uint8 or float32 [height, width, channels], or batches of these. Images
/// may have different heights and widths. The same images in the same order give the same bits on every machine.
///
/// Returns InvalidArgument if the dataset does not end (repeat()) or has no images, if an image has another type or
/// shape, or if two images differ in their type or their number of channels. Errors of the dataset are returned as they
/// are. Source: Chan, Golub, LeVeque, "Algorithms for computing the sample variance" (1983).
Result<ChannelStatistics> measure_channels(const Dataset& dataset, const ChannelStatisticsOptions& options = {});
/// As measure_channels(), but raises errors as exceptions, which is shorter in a program.
///
///   const auto channels = config.learned("channels", [&] { return data::channel_statistics(images); });
ChannelStatistics channel_statistics(const Dataset& dataset, const ChannelStatisticsOptions& options = {});

}  // namespace shoal::data

namespace shoal {

/// Lets RunConfig::learned() store channel statistics. news() compares stored statistics with those of the present images,
/// and tells whether the number of channels has changed.
template <>
struct Learned<data::ChannelStatistics> {
  static std::string encode(const data::ChannelStatistics& value);
  static Result<data::ChannelStatistics> decode(std::string_view json);
  static std::string news(const data::ChannelStatistics& kept, const data::ChannelStatistics& found);
};

}  // namespace shoal
