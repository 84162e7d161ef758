// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/number_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace shoal {
namespace {

TEST(NumberText, ReadsAllOfTheText) {
  EXPECT_EQ(number_from<int>("-12"), -12);
  EXPECT_EQ(number_from<uint16_t>("65535"), 65535);
  EXPECT_EQ(number_from<int64_t>("007"), 7);
  EXPECT_EQ(number_from<double>("1e-3"), 0.001);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1x", "0x1", "1.5"})
    EXPECT_EQ(number_from<int>(text), std::nullopt) << text;
}

TEST(NumberText, RefusesWhatTheTypeDoesNotHold) {
  EXPECT_EQ(number_from<uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(number_from<uint16_t>("-1"), std::nullopt);
  EXPECT_EQ(number_from<int64_t>("9223372036854775808"), std::nullopt);
}

TEST(NumberText, ClampsWhereAsked) {
  EXPECT_EQ(clamped_number_from<int64_t>("12"), 12);
  EXPECT_EQ(clamped_number_from<int64_t>(std::string(40, '9')), INT64_MAX);
  EXPECT_EQ(clamped_number_from<int64_t>("-" + std::string(40, '9')), INT64_MIN);
  for (const char* text : {"", "x", "1x", "99999999999999999999x"}) {
    EXPECT_EQ(clamped_number_from<int64_t>(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace shoal
