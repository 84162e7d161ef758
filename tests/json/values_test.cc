// SPDX-License-Identifier: Apache-2.0
// Numbers and tensors as printed JSON.
#include "shoal/json/values.h"

#include <gtest/gtest.h>

#include <limits>

#include "shoal/base/half.h"
#include "shoal/base/random.h"
#include "shoal/json/fields.h"

namespace shoal::json {
namespace {

TEST(Values, NumbersHaveTheFewestDigitsOfTheirType) {
  EXPECT_EQ(number_json(0.1f).dump(), "0.1");
  EXPECT_EQ(number_json(0.1).dump(), "0.1");
  EXPECT_EQ(number_json(double(0.1f)).dump(), "0.10000000149011612");
  EXPECT_EQ(number_json(-std::numeric_limits<float>::infinity()), "-Infinity");
  EXPECT_EQ(number_json(std::nan("")), "NaN");
}

TEST(Values, TensorsAreListsInLists) {
  const Tensor tensor = Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values_json(tensor).dump(), "[[1,2],[3,4]]");
  EXPECT_EQ(row_json(tensor, 1).dump(), "[3,4]");
  EXPECT_EQ(element_json(tensor, 2).dump(), "3");
  EXPECT_EQ(values_json(Tensor::scalar<float>(0.5f)).dump(), "0.5");
  EXPECT_EQ(values_json(Tensor::of_strings({2}, {"a", "b"})).dump(), R"(["a","b"])");
  EXPECT_EQ(values_json(Tensor(DType::kFloat32, Shape{0, 2})).dump(), "[]");
  EXPECT_EQ(values_json(Tensor(DType::kFloat32, Shape{3, 2, 0})).dump(), "[]");
  EXPECT_EQ(values_json(Tensor(DType::kFloat32, Shape{INT64_MAX, 0})).dump(), "[]");
  EXPECT_EQ(row_json(Tensor(DType::kFloat32, Shape{2, 1'000'000'000'000, 0}), 1).dump(), "[]");
}

TEST(Values, HalfFloatsAreShownAsNumbers) {
  Tensor halves(DType::kFloat16, Shape{3}), brains(DType::kBFloat16, Shape{1});
  const uint16_t stored[3] = {to_float16(0.5f), to_float16(65504), 0x7c00}, brain = to_bfloat16(-2);
  std::memcpy(halves.mutable_view().data, stored, sizeof stored);
  std::memcpy(brains.mutable_view().data, &brain, sizeof brain);
  EXPECT_EQ(values_json(halves).dump(), R"([0.5,65504.0,"Infinity"])");
  EXPECT_EQ(values_json(brains).dump(), "[-2.0]");
}

TEST(Text, OfAnyBytesIsPrintedWithoutAnException) {
  EXPECT_EQ(text_of(Json{{"h\xF6he", "a\xFF"}}), "{\"h\xEF\xBF\xBDhe\":\"a\xEF\xBF\xBD\"}");
  EXPECT_EQ(text_of(PrintedJson{{"b", 1}, {"a", {1, 2}}}), R"({"b":1,"a":[1,2]})");
  EXPECT_EQ(text_of(Json{1}, 2), "[\n  1\n]");
  EXPECT_EQ(text_of(Json("\xC3\xB6"), -1, true), R"("\u00f6")");
  EXPECT_EQ(string_text("a\"\n"), R"("a\"\n")");
}

TEST(Text, AZeroByteIsNoJsonAndItsPlaceIsNamed) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"{\"a\":1}\0"sv, "{\"a\":1}\0{}"sv, "{\"a\":1\0}"sv}) {
    const size_t place = text.find('\0') + 1;
    const std::string sentence = "not JSON at byte " + std::to_string(place) + ": a zero byte";
    EXPECT_EQ(parse_value(text).error().message(), sentence);
    EXPECT_EQ(parse_value(text).error().kind(), ErrorKind::kDataLoss);
    EXPECT_EQ(parse_object(text).error().message(), sentence);
    EXPECT_TRUE(parse_in_order(text).is_null());
  }
  EXPECT_EQ(parse_value(R"("\u0000")")->get<std::string>(), "\0"sv);  // An escape is no zero byte.
}

/// The library, which prints and reads names and words, and the check that looks at them have to agree on what UTF-8 is.
TEST(Text, IsUtf8ForTheCheckAndForTheLibraryAlike) {
  const std::string bytes = "\x01z\x7F\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5\xFF";
  RandomStream stream(5);
  size_t whole = 0;
  for (int round = 0; round < 200000; ++round) {
    std::string text;
    for (uint64_t i = 1 + stream.below(5); i > 0; --i) text += bytes[stream.below(bytes.size())];
    const Json back = Json::parse(string_text(text));
    ASSERT_EQ(is_utf8(text), back.get<std::string>() == text) << round;
    whole += is_utf8(text);
  }
  EXPECT_GT(whole, 1000u);
}

}  // namespace
}  // namespace shoal::json
