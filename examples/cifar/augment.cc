// SPDX-License-Identifier: Apache-2.0
#include "augment.h"

#include <algorithm>

#include "network.h"
#include "records.h"

namespace cifar {
namespace {

using shoal::data::Element;

constexpr int64_t kPadding = 4;

struct Move {
  int64_t right;
  int64_t down;
  bool mirror;
};

shoal::Tensor moved(const shoal::Tensor& picture, const Move& move) {
  shoal::Tensor result(shoal::DType::kUInt8, picture.shape());
  const uint8_t* from = picture.as<uint8_t>().data();
  uint8_t* to = result.mutable_as<uint8_t>().data();
  for (int64_t row = 0; row < kSide; ++row) {
    for (int64_t column = 0; column < kSide; ++column, to += kColours) {
      const int64_t y = row - move.down, x = (move.mirror ? kSide - 1 - column : column) - move.right;
      const bool outside = y < 0 || y >= kSide || x < 0 || x >= kSide;
      if (outside) {
        std::copy_n(kMeanColour.begin(), kColours, to);  // 0, once it is normalized.
      } else {
        std::copy_n(from + (y * kSide + x) * kColours, kColours, to);
      }
    }
  }
  return result;
}

}  // namespace

shoal::data::Dataset augment(const shoal::data::Dataset& pictures, shoal::RandomKey key) {
  return pictures.enumerate().map([key](Element element) {
    shoal::RandomStream random(shoal::fold_in(key, uint64_t(element.features["index"].as<int64_t>()[0])));
    const auto shift = [&] { return int64_t(random.below(2 * kPadding + 1)) - kPadding; };
    const Move move{.right = shift(), .down = shift(), .mirror = random.below(2) == 1};
    return Element{moved(element.features[""], move), std::move(element.labels)};
  });
}

}  // namespace cifar
