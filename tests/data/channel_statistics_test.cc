// SPDX-License-Identifier: Apache-2.0
// Mean and standard deviation of channels.
#include <gmock/gmock.h>

#include <cmath>

#include "collecting.h"
#include "image_files.h"
#include "shoal/data/augment.h"
#include "shoal/data/channel_statistics.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using ChannelText = Learned<ChannelStatistics>;

/// Each image is an element of its own size.
Dataset images_of(std::vector<Tensor> images) {
  return Dataset::range(int64_t(images.size())).map([images = std::move(images)](Element one) -> Element {
    return {images[size_t(one.features.single().as<int64_t>()[0])], {}};
  });
}

/// By two passes in long double.
void expect_moments(const std::vector<Tensor>& images, const ChannelStatistics& found) {
  const auto channels = size_t(images[0].shape()[2]);
  for (size_t channel = 0; channel < channels; ++channel) {
    std::vector<long double> values;
    for (const Tensor& image : images) {
      for (size_t i = channel; i < size_t(image.elements()); i += channels) {
        const bool bytes = image.dtype() == DType::kUInt8;
        values.push_back(bytes ? static_cast<long double>(image.as<uint8_t>()[i]) / 255
                               : static_cast<long double>(image.as<float>()[i]));
      }
    }
    long double mean = 0, squares = 0;
    for (const long double value : values) mean += value / static_cast<long double>(values.size());
    for (const long double value : values)
      squares += (value - mean) * (value - mean) / static_cast<long double>(values.size());
    EXPECT_FLOAT_EQ(found.mean[channel], float(mean));
    EXPECT_FLOAT_EQ(found.stddev[channel], float(std::sqrt(squares)));
    EXPECT_EQ(found.pixel_count, int64_t(values.size()));
  }
}

TEST(ChannelStatisticsOfImages, AreThoseOfTwoPasses) {
  std::vector<Tensor> bytes, floats;
  for (int64_t i = 1; i < 20; ++i) {
    bytes.push_back(test_image(3 + i, 40 - i, 3, RandomKey(i)));
    floats.push_back(as_floats(bytes.back()));
    for (float& value : floats.back().mutable_as<float>()) value = value * 1e-3f + 1000;
  }
  expect_moments(bytes, channel_statistics(images_of(bytes)));
  expect_moments(floats, channel_statistics(images_of(floats)));
}

TEST(ChannelStatisticsOfImages, NormalizeThem) {
  const Tensor image = test_image(30, 30, 3);
  const ChannelStatistics found = channel_statistics(images_of({image}));
  const ChannelStatistics after = channel_statistics(images_of({normalize(image, found.mean, found.stddev)}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(after.mean[size_t(i)], 0, 1e-6);
    EXPECT_NEAR(after.stddev[size_t(i)], 1, 1e-6);
  }
}

TEST(ChannelStatisticsOfImages, TakeBatchesAndNamedFeatures) {
  const Dataset images = Dataset::from_tensor_slices({{"image", Tensor::of<uint8_t>(Shape{2, 1, 2, 1}, {0, 51, 102, 255})},
                                                      {"other", Tensor::of<int64_t>(Shape{2}, {1, 2})}});
  for (const Dataset& dataset : {images, images.batch(2)}) {
    const ChannelStatistics found = channel_statistics(dataset, {.feature = "image"});
    EXPECT_EQ(found.pixel_count, 4);
    EXPECT_FLOAT_EQ(found.mean[0], 0.4f);
  }
  const ChannelStatistics equal = channel_statistics(images_of({Tensor::of<uint8_t>(Shape{1, 3, 1}, {7, 7, 7})}));
  EXPECT_EQ(equal.stddev[0], 0);
}

TEST(ChannelStatisticsOfImages, RefuseWhatHasNone) {
  const Tensor image = test_image(2, 2, 3);
  const auto error_of = [](const Dataset& dataset, const ChannelStatisticsOptions& options = {}) {
    const auto found = measure_channels(dataset, options);
    return found ? internal_error("statistics") : found.error();
  };
  const std::pair<Error, const char*> cases[] = {
      {error_of(images_of({image}).repeat()), "does not end"},
      {error_of(images_of({image}).take(0)), "has no image"},
      {error_of(images_of({image, test_image(2, 2, 1)})), "those before are uint8 of 3 channels"},
      {error_of(images_of({image, as_floats(image)})), "those before are uint8 of 3 channels"},
      {error_of(Dataset::range(3)), "expected uint8 or float32 images"},
      {error_of(images_of({image}), {.feature = "image"}), "there is no feature \"image\""},
  };
  for (const auto& [error, sentence] : cases) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(error.message(), HasSubstr(sentence));
  }
  const Dataset failing = images_of({image}).map([](Element) -> Result<Element> { return data_loss("damaged"); });
  EXPECT_EQ(error_of(failing).kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(raised([&] { channel_statistics(failing); })->kind(), ErrorKind::kDataLoss);
}

TEST(ChannelStatisticsOfImages, AreKeptAsText) {
  const ChannelStatistics found = channel_statistics(images_of({test_image(9, 9, 3)}));
  const ChannelStatistics kept = value_or_raise(ChannelText::decode(ChannelText::encode(found)));
  EXPECT_EQ(kept.pixel_count, found.pixel_count);
  EXPECT_EQ(kept.mean, found.mean);
  EXPECT_EQ(kept.stddev, found.stddev);
  EXPECT_EQ(ChannelText::news(kept, found), "");
  EXPECT_THAT(ChannelText::news(kept, channel_statistics(images_of({test_image(2, 2, 1)}))),
              HasSubstr("images of 1 channels"));
  for (const char* text : {"", "{}", R"({"pixels":-1,"mean":[],"stddev":[]})", R"({"pixels":1,"mean":[1],"stddev":[]})",
                           R"({"pixels":1,"mean":["a"],"stddev":[1]})", R"({"pixels":1,"mean":1,"stddev":[1]})"}) {
    EXPECT_EQ(ChannelText::decode(text).error().kind(), ErrorKind::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace shoal::data
