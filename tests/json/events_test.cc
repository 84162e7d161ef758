// SPDX-License-Identifier: Apache-2.0
#include "shoal/json/events.h"

#include <gtest/gtest.h>

namespace shoal::json {
namespace {

/// Writes down the pieces.
class Noted final : public Events {
 public:
  std::string text;
  Result<void> null() override { return note("null"); }
  Result<void> boolean(bool value) override { return note(value ? "true" : "false"); }
  Result<void> number(std::string_view number) override { return note(number); }
  Result<void> string(std::string& string) override {
    return string == "no" ? Result<void>(invalid_argument("refused")) : note("'" + string + "'");
  }
  Result<void> begin_list() override { return note("["); }
  Result<void> end_list() override { return note("]"); }
  Result<void> begin_object() override { return note("{"); }
  Result<void> key(std::string_view key) override { return note(std::string(key) + ":"); }
  Result<void> end_object() override { return note("}"); }

 private:
  Result<void> note(std::string_view piece) {
    text += std::string(piece) + " ";
    return {};
  }
};

std::string events_of(std::string_view text) {
  Noted noted;
  const Result<void> read = read_events(text, 5, noted);
  return read ? noted.text : read.error().message();
}

TEST(JsonEvents, ComeInTheOrderOfTheText) {
  EXPECT_EQ(events_of(R"( {"a": [1, -2.50, 1e5, "x\u00e4"], "b": {"a": null, "": [true, false]}} )"),
            "{ a: [ 1 -2.50 1e5 'x\xc3\xa4' ] b: { a: null : [ true false ] } } ");
  EXPECT_EQ(events_of("18446744073709551615"), "18446744073709551615 ");
  EXPECT_EQ(events_of("-9223372036854775808"), "-9223372036854775808 ");
  EXPECT_EQ(events_of("123456789012345678901234567890"), "123456789012345678901234567890 ");
  EXPECT_EQ(events_of("[-0, -0.0]"), "[ 0 -0.0 ] ");
}

TEST(JsonEvents, EndWithTheFirstError) {
  EXPECT_EQ(events_of(R"(["no", 1)"), "refused");
  EXPECT_EQ(events_of("[1e400]"), "the number that ends at byte 6 is beyond the range of double");
  EXPECT_EQ(events_of("[[[[[[]]]]]]"), "lists and objects nest more than 5 deep");
  EXPECT_EQ(events_of("[[[[[]]]]]"), "[ [ [ [ [ ] ] ] ] ] ");
  EXPECT_EQ(events_of(R"({"a": 1, "b": {"a": 2}, "a": 3})"), "an object has the key \"a\" twice");
  EXPECT_EQ(events_of(R"([{"a": 1}, {"a": {"b": 1, "\u0062": 1}}])"), "an object has the key \"b\" twice");
  for (const std::string_view text :
       {"", " ", "{", "[1,]", "{\"a\":}", "NaN", "1 2", "\"\xff\"", "'a'", "// x\n1", "\"\\ud800\""}) {
    EXPECT_EQ(events_of(text).substr(0, 8), "not JSON") << text;
  }
  EXPECT_EQ(events_of(std::string_view("[1]\0", 4)), "not JSON at byte 4: a zero byte");
  EXPECT_EQ(events_of("\xEF\xBB\xBF[1]"), "not JSON at byte 1: it begins with a byte order mark");
  EXPECT_EQ(events_of(std::string(1'000'000, '[')), "lists and objects nest more than 5 deep");
}

}  // namespace
}  // namespace shoal::json
