// SPDX-License-Identifier: Apache-2.0
// What the values of flags are read as.
#include "shoal/arguments/flag.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace shoal::arguments {
namespace {

TEST(Flag, SwitchesAreReadInSmallAndCapitalLetters) {
  for (const char* on : {"true", "True", "ON", "yes", "1"}) EXPECT_TRUE(value_or_raise(read_switch(on))) << on;
  for (const char* off : {"false", "False", "off", "NO", "0"}) EXPECT_FALSE(value_or_raise(read_switch(off))) << off;
  for (const char* none : {"", "2", "truer", "tru"})
    EXPECT_EQ(read_switch(none).error().message(), "\"" + std::string(none) + "\" is neither true nor false");
}

TEST(Flag, NumbersArePlainAndFitTheirType) {
  EXPECT_EQ(value_or_raise(read_number<int64_t>("-7")), -7);
  EXPECT_EQ(value_or_raise(read_number<double>("1e-3")), 1e-3);
  for (const char* none : {"", "x", "1.5", "0x10", " 1", "1 ", "99999999999999999999"})
    EXPECT_EQ(read_number<int64_t>(none).error().message(), std::string(none) + " is no INT");
  EXPECT_FALSE(read_number<int32_t>("2147483648").has_value());
  EXPECT_EQ(read_number<double>("1e999").error().message(), "1e999 is no NUMBER");
  EXPECT_EQ(read_positive<double>("0").error().message(), "0 is no positive number");
  EXPECT_EQ(read_positive<double>("nan").error().message(), "nan is no positive number");
  EXPECT_EQ(read_number_from<int64_t>(0, "-1").error().message(), "-1 is less than 0");
  EXPECT_EQ(value_or_raise(read_number_from<int64_t>(0, "0")), 0);
}

TEST(Flag, BytesHaveUnitsOfBothKinds) {
  const std::pair<const char*, int64_t> cases[] = {{"0", 0},           {"1048576", 1048576}, {"5b", 5},
                                                   {"2k", 2000},       {"2kB", 2000},        {"2KiB", 2048},
                                                   {"3 mib", 3 << 20}, {"1G", 1000000000},   {"1gi", 1 << 30},
                                                   {"7EiB", int64_t(7) << 60}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(value_or_raise(read_bytes(text)), bytes) << text;
  for (const char* none : {"", "MiB", "-1", "1.5GiB", "1x", "1kbb", "1ib"})
    EXPECT_EQ(read_bytes(none).error().message(),
              "\"" + std::string(none) + "\" is no number of bytes; write for example 200MiB, 2GB or 100000");
  for (const char* large : {"8EiB", "9223372036854775808", "99999999999999999999"})
    EXPECT_EQ(read_bytes(large).error().message(), std::string(large) + " is more than 64 bits can count");
}

TEST(Flag, AnUnknownNameGetsAProposal) {
  EXPECT_EQ(value_or_raise(read_one_of({"oak", "pine"}, "oak")), "oak");
  EXPECT_EQ(read_one_of({"oak", "pine"}, "pin").error().message(), "pin is none of oak, pine; did you mean pine?");
  EXPECT_EQ(read_one_of({"oak", "pine"}, "").error().message(), " is none of oak, pine");
}

}  // namespace
}  // namespace shoal::arguments
