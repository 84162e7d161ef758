// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/resident_bytes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace shoal {
namespace {

TEST(ResidentBytes, GrowByWhatIsWritten) {
  constexpr uint64_t kMiB = 1 << 20;
  const uint64_t before = resident_bytes();
  EXPECT_GT(before, kMiB / 2);
  const std::vector<char> written(64 * kMiB, 'x');
  const uint64_t after = resident_bytes();
  EXPECT_GE(after, before + 60 * kMiB);
  EXPECT_LE(after, before + 600 * kMiB) << "sanitizers take a multiple";
  EXPECT_EQ(written.back(), 'x');
}

TEST(ResidentBytes, CodeThatWasReadIsGivenBack) {
  if (access("/proc/self/maps", R_OK) != 0) GTEST_SKIP() << "/proc is not mounted";
  const uint64_t before = resident_bytes();
  give_back_code();
  const uint64_t after = resident_bytes();
  EXPECT_LT(after + (256 << 10), before);
  give_back_code();  // The code goes on all the same.
}

}  // namespace
}  // namespace shoal
