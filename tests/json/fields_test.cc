// SPDX-License-Identifier: Apache-2.0
#include "shoal/json/fields.h"

#include <gtest/gtest.h>

namespace shoal::json {
namespace {

class JsonFields : public ::testing::Test {
 protected:
  template <class T>
  static void expect_refused(const Result<T>& result, std::string_view sentence) {
    ASSERT_FALSE(result) << sentence;
    EXPECT_EQ(result.error(), data_loss(std::string(sentence)));
  }

  const Json object_ =
      Json::parse(R"({"text": "t", "yes": true, "half": 0.5, "count": 7, "below": -1, "list": [1], "inner": {},
                                       "huge": 18446744073709551615, "real": 7.0, "nothing": null})");
};

TEST_F(JsonFields, AreReadByType) {
  EXPECT_EQ(string_member(object_, "text").value(), "t");
  EXPECT_EQ(bool_member(object_, "yes").value(), true);
  EXPECT_EQ(number_member(object_, "half").value(), 0.5);
  EXPECT_EQ(number_member(object_, "count").value(), 7);
  EXPECT_EQ(whole_member<uint8_t>(object_, "count").value(), 7);
  EXPECT_EQ(whole_member<int>(object_, "below").value(), -1);
  EXPECT_EQ(whole_member<uint64_t>(object_, "huge").value(), UINT64_MAX);
  EXPECT_EQ(list_member(object_, "list").value()->size(), 1u);
  EXPECT_TRUE(object_member(object_, "inner").value()->empty());
}

TEST_F(JsonFields, NameWhatIsMissing) {
  expect_refused(member(object_, "other"), "\"other\" is missing");
  expect_refused(string_member(object_["list"], "text"), "an object was expected where \"text\" is looked for");
}

TEST_F(JsonFields, SayWhatTheyMustBe) {
  expect_refused(string_member(object_, "count"), "\"count\" must be a string");
  expect_refused(bool_member(object_, "count"), "\"count\" must be true or false");
  expect_refused(number_member(object_, "text"), "\"text\" must be a number");
  expect_refused(list_member(object_, "inner"), "\"inner\" must be a list");
  expect_refused(object_member(object_, "nothing"), "\"nothing\" must be an object");
}

TEST_F(JsonFields, AreElementsOfLists) {
  EXPECT_EQ(*element(object_["list"], 0, "list").value(), 1);
  expect_refused(element(object_["list"], 1, "list"), "\"list\" must be a list of at least 2 elements");
  expect_refused(element(object_["inner"], 0, "inner"), "\"inner\" must be a list of at least 1 elements");
}

TEST_F(JsonFields, AreNeverCutToFit) {
  expect_refused(whole_member<int>(object_, "real"), "\"real\" must be a whole number");
  expect_refused(whole_member<int>(object_, "text"), "\"text\" must be a whole number");
  expect_refused(whole_member<uint64_t>(object_, "below"),
                 "\"below\" must be a whole number from 0 to 18446744073709551615, and is -1");
  expect_refused(whole_member<int64_t>(object_, "below", 0),
                 "\"below\" must be a whole number from 0 to 9223372036854775807, and is -1");
  expect_refused(
      whole_member<int64_t>(object_, "huge"),
      "\"huge\" must be a whole number from -9223372036854775808 to 9223372036854775807, and is 18446744073709551615");
  expect_refused(whole_of<uint8_t>(Json(256), "byte"), "\"byte\" must be a whole number from 0 to 255, and is 256");
}

TEST_F(JsonFields, ComeFromAnObject) {
  EXPECT_EQ(parse_object(R"({"a": 1})").value()["a"], 1);
  for (const char* text : {"", "{", "[]", "1", "{} x", "{\"a\": \xff}"})
    expect_refused(parse_object(text), "not a JSON object");
}

}  // namespace
}  // namespace shoal::json
