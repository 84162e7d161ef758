// SPDX-License-Identifier: Apache-2.0
#include "digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "glyphs.h"
#include "shoal/base/random.h"

namespace mnist {
namespace {

constexpr int kSide = 28;
constexpr int kPixels = kSide * kSide;
constexpr float kBox = 19.0f;  // The longer side of a digit in pixels, 20 with the width of the pen, as in MNIST.
constexpr int kCurveSteps = 6;

/// The hand: one writer's random choices for one digit.
class Hand {
 public:
  explicit Hand(shoal::RandomKey key) : random_(key) {}
  float uniform(float low, float high) { return low + (high - low) * random_.next_float(); }
  float normal(float stddev) {  // Uses the Box-Muller transform.
    const float radius = std::sqrt(-2.0f * std::log(1.0f - random_.next_float()));
    return stddev * radius * std::cos(2 * std::numbers::pi_v<float> * random_.next_float());
  }
  size_t choose(size_t count) { return size_t(random_.below(count)); }

 private:
  shoal::RandomStream random_;
};

/// A point of the Catmull-Rom curve between b and c. Source: Catmull, Rom, "A class of local interpolating splines" (1974).
Point on_curve(Point a, Point b, Point c, Point d, float t) {
  const auto blend = [t](float p, float q, float r, float s) {
    return 0.5f * (2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * t * t + (3 * q - p - 3 * r + s) * t * t * t);
  };
  return {blend(a.x, b.x, c.x, d.x), blend(a.y, b.y, c.y, d.y)};
}

Stroke smooth(const Stroke& points) {
  Stroke curve{points.front()};
  const auto at = [&](ptrdiff_t i) { return points[size_t(std::clamp<ptrdiff_t>(i, 0, ptrdiff_t(points.size()) - 1))]; };
  for (ptrdiff_t i = 0; i + 1 < ptrdiff_t(points.size()); ++i) {
    for (int step = 1; step <= kCurveSteps; ++step) {
      curve.push_back(on_curve(at(i - 1), at(i), at(i + 1), at(i + 2), float(step) / kCurveSteps));
    }
  }
  return curve;
}

/// Distorts a glyph at random, as handwriting varies: slant, turn, stretch, a slow wave, jitter.
Glyph distort(const Glyph& glyph, Hand& hand) {
  const float slant = 0.12f + hand.normal(0.22f), turn = hand.normal(0.12f), width = hand.uniform(0.6f, 1.1f);
  const float wave = hand.normal(0.03f), phase = hand.uniform(0, 6.3f), jitter = 0.028f;
  const float cosine = std::cos(turn), sine = std::sin(turn);
  Glyph result;
  for (const Stroke& stroke : glyph) {
    Stroke moved;
    for (Point p : stroke) {
      p = {p.x - 0.5f + hand.normal(jitter), p.y - 0.5f + hand.normal(jitter)};
      p.x = p.x * width - slant * p.y + wave * std::sin(5 * p.y + phase);
      p.y += wave * std::sin(5 * p.x + 2 * phase);
      moved.push_back({cosine * p.x - sine * p.y, sine * p.x + cosine * p.y});
    }
    result.push_back(smooth(moved));
  }
  return result;
}

/// Scales the glyph so that its longer side fills the box; narrow digits stay narrow.
void fit(Glyph& glyph, Hand& hand) {
  Point low{1e9f, 1e9f}, high{-1e9f, -1e9f};
  for (const Stroke& stroke : glyph) {
    for (const Point& p : stroke) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
  }
  const float scale = kBox * hand.uniform(0.86f, 1.0f) / std::max(high.x - low.x, high.y - low.y);
  for (Stroke& stroke : glyph) {
    for (Point& p : stroke) {
      p = {(p.x - (low.x + high.x) / 2) * scale + kSide / 2.0f, (p.y - (low.y + high.y) / 2) * scale + kSide / 2.0f};
    }
  }
}

using Ink = std::array<float, kPixels>;

float distance(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
  const float t = length2 > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length2, 0.0f, 1.0f) : 0.0f;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// Draws one segment with a round, soft-edged pen of this radius.
void draw_segment(Ink& ink, Point a, Point b, float radius, float softness) {
  const float reach = radius + softness + 0.5f;
  const int x0 = std::max(0, int(std::min(a.x, b.x) - reach)), x1 = std::min(kSide - 1, int(std::max(a.x, b.x) + reach));
  const int y0 = std::max(0, int(std::min(a.y, b.y) - reach)), y1 = std::min(kSide - 1, int(std::max(a.y, b.y) + reach));
  for (int y = y0; y <= y1; ++y) {
    for (int x = x0; x <= x1; ++x) {
      const float far = distance({float(x) + 0.5f, float(y) + 0.5f}, a, b);
      const float shade = std::clamp((radius + softness - far) / (2 * softness), 0.0f, 1.0f);
      float& pixel = ink[size_t(y * kSide + x)];
      pixel = std::max(pixel, shade);
    }
  }
}

/// Moves the image so that its centre of mass is in the middle, as in MNIST.
void centre(const Ink& ink, uint8_t* pixels) {
  float mass = 1e-6f, x_sum = 0, y_sum = 0;
  for (int i = 0; i < kPixels; ++i) {
    mass += ink[size_t(i)];
    x_sum += ink[size_t(i)] * float(i % kSide);
    y_sum += ink[size_t(i)] * float(i / kSide);
  }
  const int right = int(std::lround(13.5f - x_sum / mass)), down = int(std::lround(13.5f - y_sum / mass));
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int from_x = x - right, from_y = y - down;
      const bool inside = from_x >= 0 && from_x < kSide && from_y >= 0 && from_y < kSide;
      pixels[y * kSide + x] = inside ? uint8_t(std::lround(255 * ink[size_t(from_y * kSide + from_x)])) : 0;
    }
  }
}

void draw_digit(int digit, shoal::RandomKey key, uint8_t* pixels) {
  Hand hand(key);
  const std::vector<Glyph>& ways = glyphs_of(digit);
  Glyph glyph = distort(ways[hand.choose(ways.size())], hand);
  fit(glyph, hand);
  Ink ink{};
  const float radius = hand.uniform(0.75f, 1.9f), softness = hand.uniform(0.45f, 0.8f);
  for (const Stroke& stroke : glyph) {
    for (size_t i = 0; i + 1 < stroke.size(); ++i) draw_segment(ink, stroke[i], stroke[i + 1], radius, softness);
  }
  const float noise = hand.uniform(0, 0.12f);
  for (float& pixel : ink) {
    if (pixel > 0) pixel = std::clamp(pixel * (1 + noise * hand.uniform(-1, 1)), 0.0f, 1.0f);
  }
  centre(ink, pixels);
}

}  // namespace

Images draw_digits(int64_t count, uint64_t seed) {
  Images images{shoal::Tensor(shoal::DType::kUInt8, {count, kSide, kSide, 1}),
                shoal::Tensor(shoal::DType::kInt64, {count})};
  const auto labels = images.labels.mutable_as<int64_t>();
  for (int64_t i = 0; i < count; ++i) labels[size_t(i)] = i % 10;
  shoal::RandomStream shuffle(shoal::fold_in(seed, "order of digits"));
  for (size_t i = labels.size(); i > 1; --i) std::swap(labels[i - 1], labels[size_t(shuffle.below(i))]);
  const auto pixels = images.pixels.mutable_as<uint8_t>();
  const shoal::RandomKey key = shoal::fold_in(seed, "digits");
  for (int64_t i = 0; i < count; ++i) {
    draw_digit(int(labels[size_t(i)]), shoal::fold_in(key, uint64_t(i)), pixels.data() + i * kPixels);
  }
  return images;
}

}  // namespace mnist
