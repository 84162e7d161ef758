// SPDX-License-Identifier: Apache-2.0
// The texts of both ways of writing, beside those of std::to_chars().
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "printed_shortest.h"
#include "shoal/base/format.h"
#include "shoal/base/random.h"

namespace shoal {
namespace {

template <class Float>
void expect_text_of_to_chars(Float number) {
  char text[64];
  const std::string expected(text, std::to_chars(text, text + sizeof text, number).ptr);
  EXPECT_EQ(printed_shortest(number), expected);
  EXPECT_EQ(shortest_text(number), expected);
}

void expect_texts_near(double number) {
  for (const double sign : {1.0, -1.0}) {
    const double signed_number = sign * number;
    expect_text_of_to_chars(signed_number);
    expect_text_of_to_chars(std::nextafter(signed_number, 0.0));
    expect_text_of_to_chars(std::nextafter(signed_number, 2 * signed_number));
  }
}

TEST(ShortestText, IsThatOfToCharsForRandomBits) {
  RandomStream random(RandomKey(7));
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t bits = random.next_u64();
    expect_text_of_to_chars(std::bit_cast<double>(bits));
    expect_text_of_to_chars(std::bit_cast<float>(uint32_t(bits)));
  }
}

TEST(ShortestText, IsThatOfToCharsForNumbersWithFewDigits) {
  RandomStream random(RandomKey(8));
  for (int i = 0; i < 20'000; ++i) {
    const double whole = double(int64_t(random.next_u64()) >> (random.next_u64() % 64));
    const double decimal = double(random.next_u64() % 100'000'000) * std::pow(10.0, double(random.next_u64() % 40) - 20);
    for (const double number : {whole, decimal}) {
      expect_text_of_to_chars(number);
      expect_text_of_to_chars(float(number));
    }
  }
}

// Around powers of two the neighbours are not equally far.
TEST(ShortestText, IsThatOfToCharsForPowersOfTwo) {
  for (int exponent = -1074; exponent < 1024; ++exponent) expect_texts_near(std::ldexp(1.0, exponent));
  for (int exponent = -149; exponent < 128; ++exponent) expect_text_of_to_chars(std::ldexp(1.0F, exponent));
}

TEST(ShortestText, KnowsZeroInfinityAndNan) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(printed_shortest(0.0), "0");
  EXPECT_EQ(printed_shortest(-0.0F), "-0");
  EXPECT_EQ(printed_shortest(kInfinity), "inf");
  EXPECT_EQ(printed_shortest(-kInfinity), "-inf");
  expect_text_of_to_chars(std::nan(""));
  expect_text_of_to_chars(-std::nan(""));
}

}  // namespace
}  // namespace shoal
