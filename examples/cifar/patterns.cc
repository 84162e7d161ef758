// SPDX-License-Identifier: Apache-2.0
#include "patterns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "shoal/base/random.h"

namespace cifar {
namespace {

constexpr float kPi = std::numbers::pi_v<float>;

/// Whether the point (x, y) has the front colour. Patterns repeat every two units, narrow ones every unit.
bool in_front(int64_t pattern, float x, float y) {
  const auto wave = [](float at) { return std::sin(kPi * at); };
  switch (pattern) {
    case 0: return wave(y) > 0;
    case 1: return wave(2 * y) > 0;
    case 2: return wave(x) > 0;
    case 3: return wave(2 * x) > 0;
    case 4: return wave(x + y) > 0;
    case 5: return wave(x) * wave(y) > 0;
    case 6: return wave(2 * x) * wave(2 * y) > 0;
    case 7: return std::hypot(wave(x), wave(y)) < 0.8f;
    case 8: return wave(1.5f * std::hypot(x, y)) > 0;
    default: return std::min(std::abs(wave(x)), std::abs(wave(y))) < 0.4f;
  }
}

using Colour = std::array<float, size_t(kColours)>;

float uniform(shoal::RandomStream& random, float low, float high) { return low + (high - low) * random.next_float(); }

Colour draw_colour(shoal::RandomStream& random) {
  Colour colour{};
  for (float& part : colour) part = uniform(random, 0, 255);
  return colour;
}

/// Draws two colours that differ visibly.
std::array<Colour, 2> draw_colours(shoal::RandomStream& random) {
  while (true) {
    const Colour back = draw_colour(random), front = draw_colour(random);
    float difference = 0;
    for (size_t i = 0; i < back.size(); ++i) difference += std::abs(back[i] - front[i]);
    if (difference > 150) return {back, front};
  }
}

void draw_pattern(int64_t pattern, shoal::RandomKey key, uint8_t* pixels) {
  shoal::RandomStream random(key);
  const std::array<Colour, 2> colours = draw_colours(random);
  const float unit = uniform(random, 4, 5.5f), turn = uniform(random, -0.2f, 0.2f), noise = uniform(random, 5, 30);
  const float x0 = uniform(random, 8, 24), y0 = uniform(random, 8, 24);
  const float cosine = std::cos(turn) / unit, sine = std::sin(turn) / unit;
  for (int64_t row = 0; row < kSide; ++row) {
    for (int64_t column = 0; column < kSide; ++column) {
      const float x = float(column) + 0.5f - x0, y = float(row) + 0.5f - y0;
      const Colour& colour = colours[in_front(pattern, cosine * x + sine * y, cosine * y - sine * x)];
      for (const float part : colour) {
        *pixels++ = uint8_t(std::clamp(part + uniform(random, -noise, noise), 0.0f, 255.0f));
      }
    }
  }
}

}  // namespace

Images draw_patterns(int64_t count, uint64_t seed) {
  Images images{shoal::Tensor(shoal::DType::kUInt8, {count, kSide, kSide, kColours}),
                shoal::Tensor(shoal::DType::kInt64, {count})};
  const auto labels = images.labels.mutable_as<int64_t>();
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = int64_t(i) % kClasses;
  shoal::RandomStream shuffle(shoal::fold_in(seed, "order of patterns"));
  for (size_t i = labels.size(); i > 1; --i) std::swap(labels[i - 1], labels[size_t(shuffle.below(i))]);
  uint8_t* pixels = images.pixels.mutable_as<uint8_t>().data();
  const shoal::RandomKey key = shoal::fold_in(seed, "patterns");
  for (size_t i = 0; i < labels.size(); ++i) {
    draw_pattern(labels[i], shoal::fold_in(key, i), pixels + int64_t(i) * kSide * kSide * kColours);
  }
  return images;
}

}  // namespace cifar
