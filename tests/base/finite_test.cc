// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace shoal {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

TEST(Finite, IsWhatIsNeitherInfiniteNorNan) {
  for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, kLargest, -kLargest, std::numeric_limits<float>::denorm_min()}) {
    EXPECT_TRUE(is_finite(x) && is_finite(double(x))) << x;
    EXPECT_FALSE(is_nan(x) || is_nan(double(x))) << x;
  }
  for (const float x : {kInfinity, -kInfinity}) {
    EXPECT_FALSE(is_finite(x) || is_finite(double(x)) || is_nan(x) || is_nan(double(x))) << x;
  }
  for (const float x : {kNan, -kNan, std::bit_cast<float>(0x7f800001), std::bit_cast<float>(0xffffffff)}) {
    EXPECT_FALSE(is_finite(x) || is_finite(double(x))) << x;
    EXPECT_TRUE(is_nan(x) && is_nan(double(x))) << x;
  }
  EXPECT_TRUE(is_finite(std::numeric_limits<double>::max()));
}

/// Wherever the one is: in the part that vectors take, and in what is left over.
TEST(Finite, OfManyEachCounts) {
  EXPECT_TRUE(all_finite({}));
  for (const size_t count : {1u, 7u, 16u, 67u}) {
    std::vector<float> values(count, -kLargest);
    EXPECT_TRUE(all_finite(values));
    for (size_t i = 0; i < count; ++i) {
      for (const float bad : {kInfinity, -kInfinity, kNan, -kNan}) {
        values[i] = bad;
        EXPECT_FALSE(all_finite(values)) << i << " of " << count;
      }
      values[i] = 0;
    }
  }
}

}  // namespace
}  // namespace shoal
