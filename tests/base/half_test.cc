// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "shoal/base/random.h"

namespace shoal {
namespace {

uint16_t rounded(uint32_t bits) { return to_bfloat16(std::bit_cast<float>(bits)); }

// The upper half of IEEE 754 binary32; 0x4049 for pi is the value that Intel's "BFLOAT16 hardware numerics definition"
// (2018) and PyTorch give.
TEST(Bfloat16, KnowsPublishedValues) {
  EXPECT_EQ(to_bfloat16(1.0f), 0x3f80);
  EXPECT_EQ(to_bfloat16(-2.0f), 0xc000);
  EXPECT_EQ(to_bfloat16(3.14159265f), 0x4049);
  EXPECT_EQ(from_bfloat16(0x4049), 3.140625f);
  EXPECT_EQ(to_bfloat16(0.0f), 0x0000);
  EXPECT_EQ(to_bfloat16(-0.0f), 0x8000);
  EXPECT_EQ(from_bfloat16(0x7f7f), 3.38953139e38f);   // The largest.
  EXPECT_EQ(from_bfloat16(0x0080), 1.17549435e-38f);  // The smallest that is normal.
}

TEST(Bfloat16, OfTwoEquallyNearTakesTheEvenOne) {
  EXPECT_EQ(rounded(0x3f808000), 0x3f80);  // 1 + 2^-8 lies between 1 and 1 + 2^-7.
  EXPECT_EQ(rounded(0x3f818000), 0x3f82);
  EXPECT_EQ(rounded(0x3f807fff), 0x3f80);
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0xbf818000), 0xbf82);
  EXPECT_EQ(rounded(0x3fff8000), 0x4000);  // It rounds into the next power of two.
}

TEST(Bfloat16, WhatIsBeyondTheLargestIsInfinity) {
  EXPECT_EQ(rounded(0x7f7f7fff), 0x7f7f);
  EXPECT_EQ(rounded(0x7f7f8000), 0x7f80);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::lowest()), 0xff80);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(to_bfloat16(-std::numeric_limits<float>::infinity()), 0xff80);
}

TEST(Bfloat16, ANaNStaysOne) {
  EXPECT_EQ(rounded(0x7f800001), 0x7fc0);  // The upper half alone would be infinity.
  EXPECT_EQ(rounded(0xff800001), 0xffc0);
  EXPECT_EQ(rounded(0x7fffffff), 0x7fff);  // Rounding up would make it -0.
  EXPECT_EQ(rounded(0x7fc12345), 0x7fc1);
}

TEST(Bfloat16, DenormalsAreNumbersLikeOthers) {
  EXPECT_EQ(rounded(0x00000001), 0x0000);
  EXPECT_EQ(rounded(0x00008000), 0x0000);
  EXPECT_EQ(rounded(0x00008001), 0x0001);
  EXPECT_EQ(rounded(0x00018000), 0x0002);
  EXPECT_EQ(rounded(0x807f0000), 0x807f);
  EXPECT_EQ(rounded(0x007fffff), 0x0080);  // It rounds to the smallest normal number.
}

TEST(Bfloat16, ItsOwnNumbersStayAsTheyAre) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = from_bfloat16(uint16_t(bits));
    const uint32_t quiet = std::isnan(x) ? bits | 0x40 : bits;
    ASSERT_EQ(to_bfloat16(x), quiet) << std::hex << bits;
  }
}

/// An oracle by arithmetic: 8 bits of the mantissa, rounded by nearbyint.
TEST(Bfloat16, RoundsAsArithmeticDoes) {
  std::vector<float> values(10007);
  fill_uniform(RandomKey{3}, 0, values, -4, 4);
  std::vector<float> all(values.size());
  round_to_bfloat16(values.data(), all.data(), int64_t(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    int exponent = 0;
    const double mantissa = std::frexp(double(values[i]), &exponent);
    const double expected = std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
    ASSERT_EQ(from_bfloat16(to_bfloat16(values[i])), expected) << values[i];
    ASSERT_EQ(all[i], expected) << values[i];
  }
}

// IEEE 754-2019, table 3.5 and its definitions.
TEST(Float16, KnowsPublishedValues) {
  const std::pair<uint16_t, float> values[] = {
      {0x3c00, 1.0f},         {0xc000, -2.0f},           {0x7bff, 65504.0f}, {0x0400, 0x1p-14f}, {0x0001, 0x1p-24f},
      {0x03ff, 0x1.ff8p-15f}, {0x3555, 0.333251953125f}, {0x8000, -0.0f},    {0x0000, 0.0f}};
  for (const auto& [bits, value] : values) {
    EXPECT_EQ(to_float16(value), bits) << value;
    EXPECT_EQ(std::bit_cast<uint32_t>(from_float16(bits)), std::bit_cast<uint32_t>(value)) << value;
  }
}

TEST(Float16, RoundsToTheNearestAndTheEven) {
  EXPECT_EQ(to_float16(0x1.002p0f), 0x3c00);  // Half way between 1 and the next: the even one.
  EXPECT_EQ(to_float16(0x1.006p0f), 0x3c02);
  EXPECT_EQ(to_float16(0x1.0021p0f), 0x3c01);
  EXPECT_EQ(to_float16(65519.996f), 0x7bff);
  EXPECT_EQ(to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(to_float16(-1e30f), 0xfc00);
  EXPECT_EQ(to_float16(0x1p-25f), 0x0000);
  EXPECT_EQ(to_float16(0x1.8p-24f), 0x0002);
  EXPECT_EQ(to_float16(0x1.ffep-15f), 0x0400);  // It rounds to the smallest normal number.
  EXPECT_EQ(to_float16(std::bit_cast<float>(0xff800001u)), 0xfe00);
}

#if defined(__ARM_FP16_FORMAT_IEEE) || (defined(__FLT16_MAX__) && defined(__x86_64__))
#if defined(__ARM_FP16_FORMAT_IEEE)
using CompilersHalf = __fp16;  // g++ 12 has no _Float16 on Arm.
#else
using CompilersHalf = _Float16;
#endif
TEST(Float16, ConvertsAsTheCompilerDoes) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = std::bit_cast<CompilersHalf>(uint16_t(bits));
    const float x = from_float16(uint16_t(bits));
    if (std::isnan(x)) {
      EXPECT_TRUE((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0);
    } else {
      ASSERT_EQ(x, float(half)) << std::hex << bits;
      ASSERT_EQ(to_float16(x), bits) << std::hex << bits;
    }
  }
  for (uint32_t i = 0; i < 1'000'003; ++i) {
    const auto x = std::bit_cast<float>(i * 4'294u + 77);  // All magnitudes and both signs occur.
    if (std::isnan(x)) continue;
    ASSERT_EQ(to_float16(x), std::bit_cast<uint16_t>(CompilersHalf(x))) << x;
  }
}
#endif

TEST(Bfloat16, RoundsArraysInPlaceAndAtAnyLength) {
  for (int64_t count : {0, 1, 7, 33}) {
    std::vector<float> values(size_t(count) + 1, 1.00390625f);
    round_to_bfloat16(values.data(), values.data(), count);
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(values[size_t(i)], 1.0f);
    EXPECT_EQ(values[size_t(count)], 1.00390625f);
  }
}

}  // namespace
}  // namespace shoal
