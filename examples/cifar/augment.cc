// SPDX-License-Identifier: Apache-2.0
#include "augment.h"

#include "records.h"
#include "shoal/data/augment.h"

namespace cifar {

shoal::data::Dataset augment(const shoal::data::Dataset& pictures, std::optional<int64_t> seed) {
  const auto changed = [](shoal::data::Element one, shoal::RandomStream& random) {
    constexpr float kMeanOfAll = 121;  // The border gets this mean of all channels, which normalization maps to about 0.
    constexpr int64_t kPadding = 4;
    shoal::Tensor& picture = one.features.single();
    picture = shoal::data::random_crop(picture, {.height = kSide, .width = kSide, .padding = kPadding, .fill = kMeanOfAll},
                                       random);
    picture = shoal::data::random_flip(picture, random);
    return one;
  };
  return pictures.map(shoal::data::RandomMapFn(changed), {.seed = seed});
}

}  // namespace cifar
