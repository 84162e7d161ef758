// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "shoal/base/error.h"

namespace shoal {
namespace {

using Words = std::array<uint32_t, 4>;

// Random123's kat_vectors, philox4x32 10.
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~uint64_t(0), ~uint64_t(0), ~uint64_t(0)), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, InBulkEqualsOneByOne) {
  constexpr RandomKey kKey = 0x123456789abcdef0;
  // Around the multiples of the vector width, and over the carry into the second counter word.
  for (size_t count : {0, 1, 3, 4, 5, 63, 64, 65, 127, 128, 1000}) {
    for (uint64_t first : {uint64_t(0), uint64_t(7), uint64_t(0xfffffffa), ~uint64_t(0) - 2}) {
      std::vector<uint32_t> words(count + 1, 42);
      fill_bits(kKey, first, 5, std::span(words).first(count));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(words[i], philox(kKey, first + i / 4, 5)[i % 4]) << count << " " << first << " " << i;
      }
      EXPECT_EQ(words[count], 42u);
    }
  }
}

TEST(FoldIn, DependsOnEveryPart) {
  std::set<RandomKey> keys;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t a = 0; a < 10; ++a) {
      for (uint64_t b = 0; b < 10; ++b) keys.insert(fold_in(fold_in(seed, a), b));
    }
    keys.insert(fold_in(seed, "dense/kernel"));
    keys.insert(fold_in(seed, "dense/bias"));
    keys.insert(fold_in(seed, ""));
  }
  EXPECT_EQ(keys.size(), 1030u);
}

// The keys are part of what "same seed, same bits" means: these numbers never change.
TEST(FoldIn, StaysAsItIs) {
  EXPECT_EQ(fold_in(1, uint64_t(2)), 0x85a33f7b8528e89du);
  EXPECT_EQ(fold_in(1, "dense/kernel"), 0xf1b191d5944b7975u);
}

TEST(RandomStream, WalksTheSequenceAndCanBeReCreated) {
  RandomStream stream(99);
  std::vector<uint32_t> drawn(100);
  for (uint32_t& word : drawn) word = stream.next_u32();
  for (size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i], philox(99, i / 4)[i % 4]);
  EXPECT_EQ(stream.position(), 100u);
  RandomStream middle(stream.key(), 37);
  EXPECT_EQ(middle.next_u32(), drawn[37]);
  EXPECT_EQ(middle.next_u64(), drawn[38] | uint64_t(drawn[39]) << 32);
}

TEST(RandomStream, BelowIsInBoundsAndEven) {
  RandomStream stream(5);
  std::map<uint64_t, int> counts;
  constexpr int kDraws = 70000;
  for (int i = 0; i < kDraws; ++i) ++counts[stream.below(7)];
  ASSERT_EQ(counts.size(), 7u);
  double chi_square = 0;
  for (const auto& [value, count] : counts) {
    EXPECT_LT(value, 7u);
    chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  }
  EXPECT_LT(chi_square, 22.5);  // 6 degrees of freedom, p = 0.001.
  EXPECT_EQ(stream.below(1), 0u);
}

TEST(RandomStream, BelowTakesBoundsOverThirtyTwoBits) {
  RandomStream stream(6);
  constexpr uint64_t kBound = (uint64_t(1) << 40) * 3;
  uint64_t largest = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = stream.below(kBound);
    ASSERT_LT(value, kBound);
    largest = std::max(largest, value);
  }
  EXPECT_GT(largest, kBound / 100 * 98);
  EXPECT_THROW(static_cast<void>(stream.below(0)), Exception);
}

// A bound of 3 * 2^62 rejects a quarter of all draws: without the rejection the first third would come twice as often.
TEST(RandomStream, BelowRejectsWhatWouldBeUnfair) {
  RandomStream stream(8);
  constexpr uint64_t kThird = uint64_t(1) << 62;
  std::array<int, 3> counts{};
  for (int i = 0; i < 30000; ++i) ++counts[size_t(stream.below(3 * kThird) / kThird)];
  for (int count : counts) EXPECT_NEAR(count, 10000, 300);
  EXPECT_GT(stream.position(), 2 * 30000u * 13 / 10);
}

TEST(Fill, UniformIsAddressedByElement) {
  std::vector<float> all(5000);
  fill_uniform(3, 0, all, -2.0f, 6.0f);
  for (size_t i = 0; i < all.size(); ++i) {
    const float expected = -2.0f + 8.0f * (float(philox(3, i / 4)[i % 4] >> 8) * 0x1p-24f);
    ASSERT_EQ(all[i], expected) << i;
    ASSERT_TRUE(all[i] >= -2.0f && all[i] < 6.0f);
  }
  for (size_t first : {1, 2, 3, 1021, 1024, 3333}) {
    std::vector<float> part(1500);
    fill_uniform(3, first, part, -2.0f, 6.0f);
    for (size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], all[first + i]) << first << " " << i;
  }
}

TEST(Fill, NormalIsBoxMullerOfTheSequence) {
  std::vector<float> values(100000);
  fill_normal(17, 0, values, 0.0f, 1.0f);
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Words words = philox(17, i / 4);
    const size_t pair = i % 4 / 2 * 2;
    const double u = (float(words[pair] >> 1) + 1.0f) * 0x1p-31f;  // Rounded to 24 bits, as the definition says.
    const double angle = 2 * std::numbers::pi * double(words[pair + 1]) * 0x1p-32;
    const double radius = std::sqrt(-2 * std::log(u));
    worst = std::max(worst, std::abs(values[i] - radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle))));
  }
  EXPECT_LT(worst, 2e-6);
}

TEST(Fill, NormalHasItsMoments) {
  std::vector<float> values(1 << 20);
  fill_normal(23, 0, values, 1.5f, 0.5f);
  double sum = 0, square = 0, fourth = 0;
  int beyond_three = 0;
  for (float value : values) {
    const double z = (value - 1.5) / 0.5;
    sum += z;
    square += z * z;
    fourth += z * z * z * z;
    beyond_three += std::abs(z) > 3;
  }
  const double n = double(values.size());
  EXPECT_NEAR(sum / n, 0, 0.005);
  EXPECT_NEAR(square / n, 1, 0.007);
  EXPECT_NEAR(fourth / n, 3, 0.05);
  EXPECT_NEAR(beyond_three / n, 0.0027, 0.0003);
}

TEST(Fill, NormalIsAddressedByElement) {
  std::vector<float> all(4000), cut(4000);
  for (auto fill : {fill_normal, fill_truncated_normal}) {
    fill(9, 0, all, 0.1f, 2.0f);
    for (size_t first : {1, 2, 3, 1022, 2047}) {
      cut.resize(4000 - first);
      fill(9, first, cut, 0.1f, 2.0f);
      for (size_t i = 0; i < cut.size(); ++i) ASSERT_EQ(cut[i], all[first + i]) << first << " " << i;
    }
  }
}

TEST(Fill, TruncatedNormalStaysWithinTwoDeviations) {
  std::vector<float> values(200000), plain(200000);
  fill_truncated_normal(31, 0, values, 0.0f, 1.0f);
  fill_normal(31, 0, plain, 0.0f, 1.0f);
  double square = 0;
  int redrawn = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_LE(std::abs(values[i]), 2.0f);
    square += double(values[i]) * values[i];
    if (std::abs(plain[i]) <= 2.0f) {
      ASSERT_EQ(values[i], plain[i]);
    } else {
      ++redrawn;
    }
  }
  // The variance of the normal distribution cut at two deviations.
  EXPECT_NEAR(square / double(values.size()), 0.7737, 0.01);
  EXPECT_NEAR(redrawn / double(values.size()), 0.0455, 0.002);
}

// Equal bits on every platform: recorded on x86-64, checked wherever the tests run.
TEST(Fill, BitsStayAsTheyAre) {
  float normal[4], truncated[4];
  fill_normal(42, 1000, normal, 0.0f, 1.0f);
  fill_truncated_normal(42, 12, truncated, 0.0f, 0.1f);
  const float expected_normal[4] = {-0x1.27aa6ap-2f, -0x1.450854p+0f, -0x1.35ea6ap-1f, -0x1.530c8ap-2f};
  const float expected_truncated[4] = {-0x1.3714aep-5f, -0x1.1da41ep-4f, -0x1.32e752p-4f, 0x1.2363b2p-4f};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(normal[i], expected_normal[i]) << i;
    EXPECT_EQ(truncated[i], expected_truncated[i]) << i;
  }
  std::vector<float> many(100000);
  fill_normal(7, 0, many, 0.0f, 1.0f);
  uint64_t hash = 14695981039346656037u;  // The offset basis of the hash FNV-1a.
  for (float value : many) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 1099511628211u;
  EXPECT_EQ(hash, 0xc8b35a8bb2d6beb6u);
}

}  // namespace
}  // namespace shoal
