// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gives tests their images: images whose pixels are known, and image files that a Python program wrote.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "other_programs.h"
#include "shoal/base/random.h"
#include "shoal/base/tensor.h"

namespace shoal::data {

/// uint8 [height, width, channels] of large areas and noise.
inline Tensor test_image(int64_t height, int64_t width, int64_t channels, RandomKey key = 1) {
  Tensor image(DType::kUInt8, Shape{height, width, channels});
  RandomStream random(key);
  int64_t i = 0;
  for (uint8_t& value : image.mutable_as<uint8_t>()) {
    const int64_t channel = i % channels, column = i / channels % width, row = i / channels / width;
    value = uint8_t((row * (3 + channel) + column * 5) % 200 + int64_t(random.below(56)));
    ++i;
  }
  return image;
}

inline Tensor as_floats(const Tensor& image) {
  Tensor result(DType::kFloat32, image.shape());
  for (size_t i = 0; i < size_t(image.elements()); ++i) result.mutable_as<float>()[i] = float(image.as<uint8_t>()[i]);
  return result;
}

/// A file of the line "height width channels" and the bytes of the pixels.
inline Tensor pixels_in(const std::string& path) {
  const std::string file = contents_of(path);
  std::istringstream head(file);
  int64_t height = 0, width = 0, channels = 0;
  head >> height >> width >> channels;
  const std::string pixels = file.substr(file.find('\n') + 1);
  return Tensor::of<uint8_t>(Shape{height, width, channels},
                             {reinterpret_cast<const uint8_t*>(pixels.data()), pixels.size()});
}

/// The words of each line of `text`.
inline std::vector<std::vector<std::string>> words_of_lines(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;) lines.back().push_back(word);
  }
  return lines;
}

/// How far two images are from each other.
struct Distance {
  int64_t largest = 0;      ///< -1: they are of different shapes.
  double beyond_share = 0;  ///< The share of values that differ by more than 1.
};
inline Distance distance(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return {-1, 1};
  Distance result;
  for (size_t i = 0; i < size_t(a.elements()); ++i) {
    const int64_t apart = std::abs(int64_t(a.as<uint8_t>()[i]) - int64_t(b.as<uint8_t>()[i]));
    result.largest = std::max(result.largest, apart);
    result.beyond_share += apart > 1 ? 1 / double(a.elements()) : 0;
  }
  return result;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.view().data, b.view().data, a.bytes()) == 0;
}

}  // namespace shoal::data
