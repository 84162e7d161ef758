// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/function.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace shoal {
namespace {

TEST(UniqueFunction, HoldsMoveOnlyCaptures) {
  UniqueFunction<int(int)> add = [number = std::make_unique<int>(5)](int x) { return *number + x; };
  EXPECT_EQ(add(2), 7);
  UniqueFunction<int(int)> moved = std::move(add);
  EXPECT_FALSE(bool(add));  // NOLINT: moved from on purpose
  EXPECT_EQ(moved(3), 8);
}

TEST(UniqueFunction, SmallAndLargeCapturesAreDestroyedOnce) {
  const auto watch = std::make_shared<int>(0);
  const std::array<char, 200> large{};
  {
    Work small = [watch] {};
    Work big = [watch, large] { static_cast<void>(large); };
    EXPECT_EQ(watch.use_count(), 3);
    Work other = std::move(big);
    other();
    small = std::move(other);
    EXPECT_EQ(watch.use_count(), 2);
    small = Work();
    EXPECT_EQ(watch.use_count(), 1);
  }
  EXPECT_EQ(watch.use_count(), 1);
}

TEST(UniqueFunction, KeepsItsState) {
  UniqueFunction<int()> count = [n = 0]() mutable { return ++n; };
  count();
  EXPECT_EQ(count(), 2);
}

}  // namespace
}  // namespace shoal
