// SPDX-License-Identifier: Apache-2.0
// Changes of images, against those of Pillow, and by their properties.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "collecting.h"
#include "image_files.h"
#include "shoal/data/augment.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;

class Augmented : public ::testing::Test {
 protected:
  static Tensor change(const std::vector<std::string>& words, const Tensor& image) {
    const double a = std::stod(words[1]), b = std::stod(words[2]);
    if (words[0] == "bilinear") return resize(image, {.height = int64_t(a), .width = int64_t(b)});
    if (words[0] == "nearest") return resize(image, {.height = int64_t(a), .width = int64_t(b)}, ResizeMethod::kNearest);
    if (words[0] == "rotate") return rotate(image, {.degrees = a, .fill = 90});
    if (words[0] == "brightness") return adjust_brightness(image, float(a));
    if (words[0] == "contrast") return adjust_contrast(image, float(a));
    if (words[0] == "hue") return adjust_hue(image, float(a));
    return adjust_saturation(image, float(a));
  }
  /// float32 in, rounded at the end: the same but for what uint8 rounds in between.
  static Tensor rounded(const Tensor& image) {
    Tensor result(DType::kUInt8, image.shape());
    for (size_t i = 0; i < size_t(image.elements()); ++i) {
      result.mutable_as<uint8_t>()[i] = uint8_t(std::clamp(image.as<float>()[i] + 0.5f, 0.0f, 255.0f));
    }
    return result;
  }
  static bool is_fine(const std::vector<std::string>& words, const Distance& found, int64_t apart_max) {
    // A rotated pixel at the border may come from inside or from outside, by the last bit of a coordinate.
    if (words[0] == "rotate") return found.largest >= 0 && found.beyond_share <= 0.02;
    return found.largest >= 0 && found.largest <= (words[0] == "nearest" ? 0 : apart_max);
  }
  TemporaryFolder folder_;
};

TEST_F(Augmented, AreTheImagesOfPillow) {
  if (!python_has("numpy, PIL.Image"))
    GTEST_SKIP() << "python3-numpy or python3-pil is not installed: they change the images";
  std::map<std::string, Distance> worst;
  for (const auto& words : words_of_lines(output_of(python("augmented_images.py") + folder_.path()))) {
    ASSERT_EQ(words.size(), 5);
    const Tensor before = pixels_in(folder_ / words[3]), after = pixels_in(folder_ / words[4]);
    const Distance bytes = distance(change(words, before), after);
    EXPECT_TRUE(is_fine(words, bytes, 1)) << words[0] << " " << words[1] << " " << words[2] << " "
                                          << to_string(before.shape()) << ": " << bytes.largest << ", "
                                          << bytes.beyond_share;
    // Pillow rounds luma and means; a factor makes more of that.
    const auto more = words[0] == "contrast" || words[0] == "saturation" ? int64_t(std::stod(words[1])) / 2 : 0;
    const Distance floats = distance(rounded(change(words, as_floats(before))), after);
    EXPECT_TRUE(is_fine(words, floats, 1 + more)) << words[0] << " " << words[1] << " as float32: " << floats.largest;
    worst[words[0]].largest = std::max(worst[words[0]].largest, bytes.largest);
    worst[words[0]].beyond_share = std::max(worst[words[0]].beyond_share, bytes.beyond_share);
  }
  EXPECT_EQ(worst.size(), 7);
  for (const auto& [what, found] : worst) {
    RecordProperty(what, std::to_string(found.largest) + " " + std::to_string(found.beyond_share));
  }
}

TEST_F(Augmented, CropsAreThePartsOfTheImage) {
  const Tensor image = test_image(7, 9, 3);
  const Tensor part = crop(image, {.top = 2, .left = 3, .height = 4, .width = 5});
  ASSERT_EQ(part.shape(), (Shape{4, 5, 3}));
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t i = 0; i < 15; ++i) {
      EXPECT_EQ(part.as<uint8_t>()[size_t(row * 15 + i)], image.as<uint8_t>()[size_t((row + 2) * 27 + 9 + i)]);
    }
  }
  EXPECT_TRUE(same_bits(crop(as_floats(image), {.top = 2, .left = 3, .height = 4, .width = 5}), as_floats(part)));
  EXPECT_TRUE(same_bits(crop(image, {.height = 7, .width = 9}), image));
}

TEST_F(Augmented, RandomCropsComeFromEveryPlace) {
  // The value of a pixel is its place, and 0 is the padding.
  Tensor image(DType::kUInt8, Shape{4, 5, 1});
  for (size_t i = 0; i < 20; ++i) image.mutable_as<uint8_t>()[i] = uint8_t(i + 1);
  std::set<std::vector<uint8_t>> parts;
  for (RandomKey key = 0; key < 2000; ++key) {
    RandomStream random(key);
    const Tensor part = random_crop(image, {.height = 3, .width = 4, .padding = 2, .fill = 0}, random);
    ASSERT_EQ(part.shape(), (Shape{3, 4, 1}));
    const auto pixels = part.as<uint8_t>();
    parts.emplace(pixels.begin(), pixels.end());
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t column = 0; column < 4; ++column) {
        const uint8_t value = pixels[size_t(row * 4 + column)];
        if (value == 0) continue;
        // Neighbours in the part are neighbours in the image.
        if (column > 0 && pixels[size_t(row * 4 + column - 1)] != 0) {
          EXPECT_EQ(pixels[size_t(row * 4 + column - 1)], value - 1);
        }
        if (row > 0 && pixels[size_t(row * 4 - 4 + column)] != 0) {
          EXPECT_EQ(pixels[size_t(row * 4 - 4 + column)], value - 5);
        }
      }
    }
  }
  EXPECT_EQ(parts.size(), 6 * 6);  // Each place has other pixels.
}

TEST_F(Augmented, FlipsAreTheirOwnOpposites) {
  for (const int64_t channels : {1, 3, 4}) {
    const Tensor image = test_image(3, 6, channels);
    const Tensor flipped = flip_left_right(image);
    EXPECT_FALSE(same_bits(flipped, image));
    EXPECT_TRUE(same_bits(flip_left_right(flipped), image));
    for (int64_t i = 0; i < channels; ++i)
      EXPECT_EQ(flipped.as<uint8_t>()[size_t(i)], image.as<uint8_t>()[size_t(5 * channels + i)]);
    int flips = 0;
    for (RandomKey key = 0; key < 1000; ++key) {
      RandomStream random(key);
      const Tensor one = random_flip(as_floats(image), random);
      flips += same_bits(one, as_floats(flipped));
      EXPECT_TRUE(same_bits(one, as_floats(flipped)) || same_bits(one, as_floats(image)));
    }
    EXPECT_NEAR(flips, 500, 60);
  }
}

TEST_F(Augmented, CutOutsAreSquaresThatMayLieAtTheBorder) {
  const Tensor image = Tensor::of<float>(Shape{5, 6, 1}, std::vector<float>(30, 1.0f));
  std::set<int64_t> sizes;
  for (RandomKey key = 0; key < 500; ++key) {
    RandomStream random(key);
    const Tensor cut = cut_out(image, {.size = 3, .fill = -2}, random);
    sizes.insert(std::count(cut.as<float>().begin(), cut.as<float>().end(), -2.0f));
    EXPECT_EQ(std::count(cut.as<float>().begin(), cut.as<float>().end(), 1.0f),
              30 - std::count(cut.as<float>().begin(), cut.as<float>().end(), -2.0f));
  }
  EXPECT_EQ(sizes, (std::set<int64_t>{4, 6, 9}));
  EXPECT_EQ(image.as<float>()[0], 1.0f);
}

TEST_F(Augmented, RandomResizedCropsHaveTheSizeThatIsAskedFor) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>(50, 60), {1, 1}, {1, 300}, {300, 2}}) {
    const Tensor image = test_image(height, width, 3);
    for (RandomKey key = 0; key < 100; ++key) {
      RandomStream random(key), again(key);
      const RandomResizedCropOptions options{.height = 24, .width = 20};
      const Tensor part = random_resized_crop(image, options, random);
      EXPECT_EQ(part.shape(), (Shape{24, 20, 3}));
      EXPECT_TRUE(same_bits(part, random_resized_crop(image, options, again)));
      EXPECT_EQ(random.position(), again.position());
    }
  }
  // All of the area, at the ratio that the image has, is the image.
  const Tensor image = test_image(20, 20, 1);
  RandomStream random(3);
  EXPECT_TRUE(same_bits(
      random_resized_crop(image, {.height = 20, .width = 20, .area_min = 1, .ratio_min = 1, .ratio_max = 1}, random),
      image));
}

/// Of an image whose pixels are their places, those of a part tell its sides.
TEST_F(Augmented, RandomResizedCropsHaveAreasAndRatiosInTheirRanges) {
  Tensor image(DType::kFloat32, Shape{200, 200, 2});
  for (int64_t i = 0; i < 200 * 200; ++i) {
    image.mutable_as<float>()[size_t(2 * i)] = float(i / 200);
    image.mutable_as<float>()[size_t(2 * i + 1)] = float(i % 200);
  }
  double area_sum = 0;
  int wide = 0;
  for (RandomKey key = 0; key < 1000; ++key) {
    RandomStream random(key);
    const Tensor part = random_resized_crop(image, {.height = 20, .width = 20, .area_min = 0.1, .area_max = 0.5}, random);
    // Pixels that are ten of twenty apart are half a side apart; those near the border are means of fewer.
    const auto p = part.as<float>();
    const auto at = [&](int64_t row, int64_t column, int64_t channel) {
      return double(p[size_t((row * 20 + column) * 2 + channel)]);
    };
    const double height = 2 * (at(15, 9, 0) - at(5, 9, 0)), width = 2 * (at(9, 15, 1) - at(9, 5, 1)),
                 area = height * width / 40000;
    area_sum += area;
    wide += width > height;
    EXPECT_GT(area, 0.09);
    EXPECT_LT(area, 0.52);
    EXPECT_GT(width / height, 0.72);
    EXPECT_LT(width / height, 1.39);
  }
  EXPECT_NEAR(area_sum / 1000, 0.3, 0.015);
  EXPECT_NEAR(wide, 500, 70);
}

TEST_F(Augmented, ColoursJitterInTheirRanges) {
  const Tensor image = as_floats(test_image(8, 8, 3));
  std::set<float> factors;
  for (RandomKey key = 0; key < 300; ++key) {
    RandomStream random(key), again(key);
    const Tensor one = color_jitter(image, {.brightness = 0.4f}, random);
    const float factor = one.as<float>()[0] / image.as<float>()[0];
    factors.insert(factor);
    EXPECT_GE(factor, 0.599f);
    EXPECT_LE(factor, 1.401f);
    const Tensor all = color_jitter(image, {.brightness = 0.4f, .contrast = 0.4f, .saturation = 2}, again);
    EXPECT_FALSE(same_bits(all, image));
    EXPECT_EQ(random.position(), again.position());  // Whatever it is that changes.
  }
  EXPECT_GT(factors.size(), 290);
  EXPECT_LT(*factors.begin(), 0.62f);
  EXPECT_GT(*factors.rbegin(), 1.38f);
  RandomStream random(1);
  EXPECT_TRUE(same_bits(color_jitter(image, {}, random), image));
}

TEST_F(Augmented, HuesTurnAroundTheCircle) {
  const Tensor red = Tensor::of<float>(Shape{1, 1, 3}, {0.5f, 0.25f, 0.25f});
  EXPECT_TRUE(same_bits(adjust_hue(red, 1.0f / 3), Tensor::of<float>(Shape{1, 1, 3}, {0.25f, 0.5f, 0.25f})));
  EXPECT_TRUE(same_bits(adjust_hue(red, -1.0f / 3), Tensor::of<float>(Shape{1, 1, 3}, {0.25f, 0.25f, 0.5f})));
  EXPECT_TRUE(same_bits(adjust_hue(red, 0.5f), Tensor::of<float>(Shape{1, 1, 3}, {0.25f, 0.5f, 0.5f})));
  for (const float odd : {INFINITY, -INFINITY, NAN, 0.5f}) {  // Of the last one, all three channels are equal: grey.
    for (int at = 0; at < 3; ++at) {
      float rgb[] = {0.5f, 0.5f, 0.5f};
      if (odd != 0.5f) rgb[(at + 1) % 3] = 0.25f;
      rgb[at] = odd;
      const Tensor pixel = Tensor::of<float>(Shape{1, 1, 3}, {rgb[0], rgb[1], rgb[2]});
      EXPECT_TRUE(same_bits(adjust_hue(pixel, 0.3f), pixel)) << odd << " in channel " << at;
    }
  }
  const Tensor image = as_floats(test_image(8, 8, 3));
  for (RandomKey key = 0; key < 50; ++key) {
    RandomStream random(key), without(key);
    const Tensor one = color_jitter(image, {.hue = 0.1f}, random);
    EXPECT_TRUE(same_bits(color_jitter(image, {}, without), image));
    EXPECT_FALSE(same_bits(one, image));
    for (size_t i = 0; i < one.as<float>().size(); i += 3) {
      const auto* was = &image.as<float>()[i];
      const auto* is = &one.as<float>()[i];
      EXPECT_EQ(std::max({is[0], is[1], is[2]}), std::max({was[0], was[1], was[2]}));
      EXPECT_NEAR(std::min({is[0], is[1], is[2]}), std::min({was[0], was[1], was[2]}), 1e-4);
    }
  }
}

TEST_F(Augmented, AreNormalizedByChannel) {
  const float mean[] = {0.5f, 0.25f}, stddev[] = {0.5f, 2.0f};
  const Tensor bytes = normalize(Tensor::of<uint8_t>(Shape{1, 2, 2}, {255, 0, 0, 255}), mean, stddev);
  EXPECT_EQ(bytes.dtype(), DType::kFloat32);
  EXPECT_TRUE(same_bits(bytes, Tensor::of<float>(Shape{1, 2, 2}, {1, -0.125f, -1, 0.375f})));
  const Tensor batch = normalize(Tensor::of<float>(Shape{2, 1, 1, 2}, {1, 0, 0, 1}), mean, stddev);
  EXPECT_TRUE(same_bits(batch, Tensor::of<float>(Shape{2, 1, 1, 2}, {1, -0.125f, -1, 0.375f})));
  const float one_mean[] = {1}, one_stddev[] = {2};
  EXPECT_TRUE(same_bits(normalize(Tensor::of<float>(Shape{1, 1, 3}, {1, 3, 5}), one_mean, one_stddev),
                        Tensor::of<float>(Shape{1, 1, 3}, {0, 1, 2})));
}

TEST_F(Augmented, ClassesBecomeVectors) {
  EXPECT_TRUE(
      same_bits(one_hot(Tensor::of<int64_t>(Shape{2}, {2, 0}), 3), Tensor::of<float>(Shape{2, 3}, {0, 0, 1, 1, 0, 0})));
  EXPECT_TRUE(same_bits(one_hot(Tensor::scalar<int64_t>(1), 2), Tensor::of<float>(Shape{2}, {0, 1})));
}

TEST_F(Augmented, AreTheSameOnAnyNumberOfThreads) {
  Tensor images(DType::kUInt8, Shape{30, 12, 14, 3});
  for (int64_t i = 0; i < 30; ++i) {
    const Tensor one = test_image(12, 14, 3, RandomKey(i));
    std::memcpy(images.mutable_view().data + size_t(i) * one.bytes(), one.view().data, one.bytes());
  }
  const auto change_all = [](Element one, RandomStream& random) -> Element {
    Tensor& image = one.features.single();
    image = random_flip(random_crop(image, {.height = 12, .width = 14, .padding = 2}, random), random);
    image = color_jitter(image, {.brightness = 0.3f, .contrast = 0.3f, .saturation = 0.3f}, random);
    image = random_resized_crop(image, {.height = 8, .width = 8}, random);
    image = rotate(image, {.degrees = double(random.next_float()) * 30 - 15});
    image = cut_out(image, {.size = 3}, random);
    const float mean[] = {0.4f}, stddev[] = {0.2f};
    image = normalize(image, mean, stddev);
    return one;
  };
  std::vector<std::vector<Tensor>> runs;
  for (const int parallel : {1, 2, 5}) {
    runs.emplace_back();
    const Dataset dataset =
        Dataset::from_tensor_slices(images).map(change_all, {.parallel = parallel, .seed = 9}).repeat(2);
    for (const Element& one : dataset.elements()) runs.back().push_back(one.features.single().clone());
  }
  ASSERT_EQ(runs[0].size(), 60);
  for (size_t i = 0; i < 60; ++i) {
    EXPECT_TRUE(same_bits(runs[0][i], runs[1][i]) && same_bits(runs[0][i], runs[2][i])) << i;
  }
  EXPECT_FALSE(same_bits(runs[0][0], runs[0][30]));  // Another pass draws other numbers.
  // The same bits on every machine: a hash that was computed on x86-64, with g++ 12.
  std::string bytes;
  for (const Tensor& one : runs[0]) bytes.append(reinterpret_cast<const char*>(one.view().data), one.bytes());
  EXPECT_EQ(hash64(bytes), 17218959987231701017u);
}

TEST(AugmentArguments, OutOfRangeAreRefused) {
  const Tensor image = test_image(4, 5, 3), floats = as_floats(image), four = test_image(4, 5, 4);
  const float half[] = {0.5f}, zero[] = {0}, two[] = {1, 1};
  const Element batch{Tensor::zeros(DType::kFloat32, Shape{2, 3}), Tensor::zeros(DType::kFloat32, Shape{2, 4})};
  const Element bytes{Tensor::zeros(DType::kUInt8, Shape{2, 3}), Tensor::zeros(DType::kFloat32, Shape{2, 4})};
  const Element uneven{Tensor::zeros(DType::kFloat32, Shape{2, 3}), Tensor::zeros(DType::kFloat32, Shape{3, 4})};
  RandomStream random(1);
  const Tensor labels = Tensor::of<int64_t>(Shape{2}, {0, 3});
  const std::pair<const char*, std::function<void()>> cases[] = {
      {"crop", [&] { crop(image, {.height = 5, .width = 5}); }},
      {"crop", [&] { crop(image, {.top = -1, .height = 2, .width = 2}); }},
      {"crop", [&] { crop(image, {.left = 4, .height = 2, .width = 2}); }},
      {"crop", [&] { crop(image, {.height = 0, .width = 2}); }},
      {"crop", [&] { crop(image, {.top = INT64_MAX, .height = INT64_MAX, .width = 2}); }},
      {"crop",
       [&] {
         crop(Tensor::zeros(DType::kUInt8, Shape{4, 5}), {.height = 1, .width = 1});
       }},
      {"crop",
       [&] {
         crop(Tensor::zeros(DType::kInt64, Shape{4, 5, 1}), {.height = 1, .width = 1});
       }},
      {"crop",
       [&] {
         crop(Tensor::zeros(DType::kUInt8, Shape{4, 0, 1}), {.height = 1, .width = 1});
       }},
      {"random_crop", [&] { random_crop(image, {.height = 7, .width = 5, .padding = 1}, random); }},
      {"random_crop", [&] { random_crop(image, {.height = 2, .width = 2, .padding = -1}, random); }},
      {"random_crop", [&] { random_crop(image, {}, random); }},
      {"flip_left_right", [&] { flip_left_right(labels); }},
      {"random_flip", [&] { random_flip(labels, random); }},
      {"cut_out", [&] { cut_out(image, {.size = 0}, random); }},
      {"resize", [&] { resize(image, {.height = 0, .width = 5}); }},
      {"resize", [&] { resize(image, {.height = 5, .width = -1}); }},
      {"random_resized_crop", [&] { random_resized_crop(image, {.height = 2, .width = 2, .area_min = 0}, random); }},
      {"random_resized_crop", [&] { random_resized_crop(image, {.height = 2, .width = 2, .area_max = 1.5}, random); }},
      {"random_resized_crop",
       [&] { random_resized_crop(image, {.height = 2, .width = 2, .ratio_min = 2, .ratio_max = 1}, random); }},
      {"random_resized_crop",
       [&] { random_resized_crop(image, {.height = 2, .width = 2, .ratio_min = std::nan("")}, random); }},
      {"resize", [&] { random_resized_crop(image, {}, random); }},
      {"rotate", [&] { rotate(image, {.degrees = INFINITY}); }},
      {"adjust_brightness", [&] { adjust_brightness(image, -1); }},
      {"adjust_contrast", [&] { adjust_contrast(image, NAN); }},
      {"adjust_saturation", [&] { adjust_saturation(four, 1); }},
      {"adjust_hue", [&] { adjust_hue(four, 0.1f); }},
      {"adjust_hue", [&] { adjust_hue(floats, 0.51f); }},
      {"adjust_hue", [&] { adjust_hue(floats, NAN); }},
      {"color_jitter", [&] { color_jitter(floats, {.hue = 0.6f}, random); }},
      {"color_jitter", [&] { color_jitter(floats, {.contrast = -0.5f}, random); }},
      {"normalize", [&] { normalize(image, half, zero); }},
      {"normalize", [&] { normalize(image, two, half); }},
      {"normalize", [&] { normalize(image, half, two); }},
      {"normalize", [&] { normalize(labels, half, half); }},
      {"one_hot", [&] { one_hot(labels, 3); }},
      {"one_hot", [&] { one_hot(labels, 0); }},
      {"one_hot", [&] { one_hot(image, 3); }},
      {"mix_up", [&] { mix_up(batch, {.alpha = 0}, random); }},
      {"mix_up", [&] { mix_up(bytes, {}, random); }},
      {"mix_up", [&] { mix_up(uneven, {}, random); }},
  };
  for (const auto& [function, call] : cases) {
    const auto error = raised(call);
    ASSERT_TRUE(error) << function;
    EXPECT_EQ(error->kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(error->message(), HasSubstr(std::string(function) + ": "));
  }
}

}  // namespace
}  // namespace shoal::data
