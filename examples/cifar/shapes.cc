#include "shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "shoal/base/random.h"

namespace cifar {
namespace {

constexpr float kPi = std::numbers::pi_v<float>;

/// Whether a point belongs to the shape, which fits into the circle of radius 1 around the origin.
bool inside(int64_t shape, float x, float y) {
  const float ax = std::abs(x), ay = std::abs(y), radius = std::hypot(x, y), box = std::max(ax, ay);
  const auto star = [&](float points) { return radius < 0.6f + 0.4f * std::cos(points * std::atan2(y, x)); };
  switch (shape) {
    case 0: return radius < 0.85f;
    case 1: return radius < 0.95f && radius > 0.55f;
    case 2: return box < 0.7f;
    case 3: return box < 0.75f && box > 0.42f;
    case 4: return y < 0.6f && 1.7f * ax < y + 1;
    case 5: return box < 0.9f && std::min(ax, ay) < 0.28f;
    case 6: return star(3);
    case 7: return star(5);
    case 8: return box < 0.8f && std::sin(2.5f * kPi * x) > 0;
    default: return box < 0.8f && (std::sin(2 * kPi * x) > 0) != (std::sin(2 * kPi * y) > 0);
  }
}

using Colour = std::array<float, size_t(kColours)>;

float uniform(shoal::RandomStream& random, float low, float high) { return low + (high - low) * random.next_float(); }

Colour draw_colour(shoal::RandomStream& random) {
  Colour colour{};
  for (float& part : colour) part = uniform(random, 0, 255);
  return colour;
}

/// Any two colours that differ enough to see.
std::array<Colour, 2> draw_colours(shoal::RandomStream& random) {
  while (true) {
    const Colour back = draw_colour(random), front = draw_colour(random);
    float difference = 0;
    for (size_t i = 0; i < back.size(); ++i) difference += std::abs(back[i] - front[i]);
    if (difference > 150) return {back, front};
  }
}

void draw_shape(int64_t shape, shoal::RandomKey key, uint8_t* pixels) {
  shoal::RandomStream random(key);
  const std::array<Colour, 2> colours = draw_colours(random);
  const float radius = uniform(random, 9, 14), turn = uniform(random, -0.4f, 0.4f), noise = uniform(random, 5, 30);
  const float middle = float(kSide) / 2, x0 = middle + uniform(random, -4, 4), y0 = middle + uniform(random, -4, 4);
  const float cosine = std::cos(turn) / radius, sine = std::sin(turn) / radius;
  for (int64_t row = 0; row < kSide; ++row) {
    for (int64_t column = 0; column < kSide; ++column) {
      const float x = float(column) + 0.5f - x0, y = float(row) + 0.5f - y0;
      const Colour& colour = colours[inside(shape, cosine * x + sine * y, cosine * y - sine * x)];
      for (const float part : colour) {
        *pixels++ = uint8_t(std::clamp(part + uniform(random, -noise, noise), 0.0f, 255.0f));
      }
    }
  }
}

}  // namespace

Images draw_shapes(int64_t count, uint64_t seed) {
  Images images{shoal::Tensor(shoal::DType::kUInt8, {count, kSide, kSide, kColours}),
                shoal::Tensor(shoal::DType::kInt64, {count})};
  const auto labels = images.labels.mutable_as<int64_t>();
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = int64_t(i) % kClasses;
  shoal::RandomStream shuffle(shoal::fold_in(seed, "order of shapes"));
  for (size_t i = labels.size(); i > 1; --i) std::swap(labels[i - 1], labels[size_t(shuffle.below(i))]);
  uint8_t* pixels = images.pixels.mutable_as<uint8_t>().data();
  const shoal::RandomKey key = shoal::fold_in(seed, "shapes");
  for (size_t i = 0; i < labels.size(); ++i) {
    draw_shape(labels[i], shoal::fold_in(key, i), pixels + int64_t(i) * kSide * kSide * kColours);
  }
  return images;
}

}  // namespace cifar
