// SPDX-License-Identifier: Apache-2.0
/// The drawn digits: the same for the same seed, balanced, and of the size, place and ink that MNIST's have.
#include "digits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace mnist {
namespace {

constexpr int kSide = 28;
constexpr size_t kPixels = size_t(kSide) * kSide;

std::span<const uint8_t> image(const Images& images, int64_t index) {
  return images.pixels.as<uint8_t>().subspan(size_t(index) * kPixels, kPixels);
}

bool equal(const Images& a, const Images& b) {
  return std::ranges::equal(a.pixels.as<uint8_t>(), b.pixels.as<uint8_t>()) &&
         std::ranges::equal(a.labels.as<int64_t>(), b.labels.as<int64_t>());
}

/// The mean image of each digit.
std::array<std::array<double, kPixels>, 10> means(const Images& images) {
  std::array<std::array<double, kPixels>, 10> sums{};
  std::array<double, 10> counts{};
  const auto labels = images.labels.as<int64_t>();
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto pixels = image(images, int64_t(i));
    for (size_t k = 0; k < kPixels; ++k) sums[size_t(labels[i])][k] += pixels[k];
    counts[size_t(labels[i])] += 1;
  }
  for (size_t digit = 0; digit < 10; ++digit) {
    for (double& sum : sums[digit]) sum /= counts[digit];
  }
  return sums;
}

int nearest(const std::array<std::array<double, kPixels>, 10>& means, std::span<const uint8_t> pixels) {
  int best = -1;
  double best_distance = std::numeric_limits<double>::infinity();
  for (int digit = 0; digit < 10; ++digit) {
    double distance = 0;
    for (size_t k = 0; k < kPixels; ++k) distance += std::pow(means[size_t(digit)][k] - pixels[k], 2);
    if (distance < best_distance) best_distance = distance, best = digit;
  }
  return best;
}

TEST(Digits, AreAFunctionOfCountAndSeed) {
  const Images once = draw_digits(50, 3);
  EXPECT_TRUE(equal(once, draw_digits(50, 3)));
  EXPECT_FALSE(equal(once, draw_digits(50, 4)));
  EXPECT_EQ(once.pixels.shape(), (shoal::Shape{50, kSide, kSide, 1}));
  EXPECT_EQ(once.labels.shape(), shoal::Shape{50});
}

TEST(Digits, ComeInEqualPartsAndMixed) {
  const Images images = draw_digits(1000, 1);
  const auto labels = images.labels.as<int64_t>();
  std::array<int, 10> counts{};
  for (int64_t label : labels) {
    ASSERT_TRUE(label >= 0 && label < 10) << label;
    ++counts[size_t(label)];
  }
  EXPECT_THAT(counts, ::testing::Each(100));
  // Labels do not come as 0, 1, 2, ... in turn: the first hundred would then hold each ten times.
  std::array<int, 10> first{};
  for (size_t i = 0; i < 100; ++i) ++first[size_t(labels[i])];
  EXPECT_THAT(first, ::testing::Not(::testing::Each(10)));
}

/// MNIST's training images have a mean of 33.3 and a standard deviation of 78.6 (of 255), and their centre of mass in the
/// middle: figures of many published programs.
TEST(Digits, HaveTheInkAndThePlaceOfMnist) {
  const Images images = draw_digits(2000, 2);
  double sum = 0, squares = 0;
  for (uint8_t pixel : images.pixels.as<uint8_t>()) {
    sum += pixel;
    squares += double(pixel) * pixel;
  }
  const double count = 2000.0 * kPixels, mean = sum / count;
  EXPECT_NEAR(mean, 33.3, 10);
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean), 78.6, 15);
  for (int64_t i = 0; i < 2000; ++i) {
    const auto pixels = image(images, i);
    double mass = 0, x = 0, y = 0;
    for (size_t k = 0; k < kPixels; ++k) {
      mass += pixels[k];
      x += pixels[k] * double(k % kSide);
      y += pixels[k] * double(k / kSide);
    }
    ASSERT_GT(mass, 20 * 255) << "image " << i << " is nearly empty";
    ASSERT_LT(mass, 300 * 255) << "image " << i << " is nearly full";
    ASSERT_NEAR(x / mass, 13.5, 1) << "image " << i;
    ASSERT_NEAR(y / mass, 13.5, 1) << "image " << i;
  }
}

/// The simplest reader there is, which reads about 82% of MNIST's test images: digits that it cannot tell apart at all
/// would be no digits, and digits that it never confuses would be too neat.
TEST(Digits, AreToldApartByTheirMeansButNotPerfectly) {
  const auto of_training = means(draw_digits(3000, 5));
  const Images test = draw_digits(1000, 6);
  const auto labels = test.labels.as<int64_t>();
  int right = 0;
  for (int64_t i = 0; i < 1000; ++i) right += nearest(of_training, image(test, i)) == labels[size_t(i)];
  EXPECT_GT(right, 600);
  EXPECT_LT(right, 950);
}

}  // namespace
}  // namespace mnist
