// SPDX-License-Identifier: Apache-2.0
// What the texts of arguments are read as.
#include "shoal/arguments/readers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace shoal::arguments {
namespace {

TEST(Readers, SwitchesAreReadInSmallAndCapitalLetters) {
  for (const char* on : {"true", "True", "ON", "yes", "1"}) EXPECT_TRUE(value_or_raise(read_switch(on))) << on;
  for (const char* off : {"false", "False", "off", "NO", "0"}) EXPECT_FALSE(value_or_raise(read_switch(off))) << off;
  for (const char* none : {"", "2", "truer", "tru"})
    EXPECT_EQ(read_switch(none).error().message(), "\"" + std::string(none) + "\" is neither true nor false");
}

TEST(Readers, NumbersArePlainAndFitTheirType) {
  EXPECT_EQ(value_or_raise(read_as<int64_t>("-7")), -7);
  EXPECT_EQ(value_or_raise(read_as<double>("1e-3")), 1e-3);
  EXPECT_EQ(value_or_raise(read_as<std::string>(" a")), " a");
  EXPECT_TRUE(value_or_raise(read_as<bool>("on")));
  for (const char* none : {"", "x", "1.5", "0x10", " 1", "1 ", "99999999999999999999"})
    EXPECT_EQ(read_as<int64_t>(none).error().message(), std::string(none) + " is no INT");
  EXPECT_FALSE(read_as<int32_t>("2147483648").has_value());
  EXPECT_FALSE(read_as<uint64_t>("-1").has_value());
  EXPECT_EQ(read_as<double>("1e999").error().message(), "1e999 is no NUMBER");
}

std::string refusal(const Take& check, const std::string& text) {
  const Result<void> result = check(text);
  return result ? "" : result.error().message();
}

TEST(Readers, ChecksSayWhatIsWrong) {
  EXPECT_EQ(refusal(check_positive, "0.5"), "");
  EXPECT_EQ(refusal(check_positive, "0"), "0 is no positive number");
  EXPECT_EQ(refusal(check_positive, "nan"), "nan is no positive number");
  EXPECT_EQ(refusal(in_range(0, 65535), "65535"), "");
  EXPECT_EQ(refusal(in_range(0, 65535), "-1"), "-1 is not in the range from 0 to 65535");
  EXPECT_EQ(refusal(in_range(0.001, 3600), "nan"), "nan is not in the range from 0.001 to 3600");
  EXPECT_EQ(refusal(at_least(0), "-1"), "-1 is less than 0");
  EXPECT_EQ(refusal(one_of({"oak", "pine"}), "oak"), "");
  EXPECT_EQ(refusal(one_of({"oak", "pine"}), "pin"), "pin is none of oak, pine; did you mean pine?");
  EXPECT_EQ(refusal(one_of({"oak", "pine"}), ""), " is none of oak, pine");
  int chosen = 0;
  const Take choice = stores_choice<int, int>(chosen, {{"oak", 1}, {"pine", 2}});
  EXPECT_EQ(refusal(choice, "pine"), "");
  EXPECT_EQ(chosen, 2);
  EXPECT_EQ(refusal(choice, "Oak"), "Oak is none of oak, pine; did you mean oak?");
}

TEST(Readers, TextsOfValuesAreAsOneWritesThem) {
  EXPECT_EQ(text_of(int64_t(-3)), "-3");
  EXPECT_EQ(text_of(0.001), "0.001");
  EXPECT_EQ(text_of(5.0), "5");
  EXPECT_EQ(text_of(std::string("a")), "a");
}

TEST(Readers, BytesHaveUnitsOfBothKinds) {
  const std::pair<const char*, int64_t> cases[] = {
      {"0", 0},       {"1048576", 1048576}, {"5b", 5},          {"2k", 2000},     {"2kB", 2000},
      {"2KiB", 2048}, {"3 mib", 3 << 20},   {"1G", 1000000000}, {"1gi", 1 << 30}, {"7EiB", int64_t(7) << 60}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(value_or_raise(read_bytes(text)), bytes) << text;
  for (const char* none : {"", "MiB", "-1", "1.5GiB", "1x", "1kbb", "1ib"})
    EXPECT_EQ(read_bytes(none).error().message(),
              "\"" + std::string(none) + "\" is no number of bytes; write for example 200MiB, 2GB or 100000");
  for (const char* large : {"8EiB", "9223372036854775808", "99999999999999999999"})
    EXPECT_EQ(read_bytes(large).error().message(), std::string(large) + " is more than 64 bits can count");
}

}  // namespace
}  // namespace shoal::arguments
