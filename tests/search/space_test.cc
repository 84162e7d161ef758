// SPDX-License-Identifier: Apache-2.0
/// Search spaces: how they are written, what is refused, and the combinations of a grid.
#include "shoal/search/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.h"

namespace shoal::tuning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Parameter parameter(const std::string& text) {
  auto parsed = parse_parameter(text);
  EXPECT_TRUE(parsed) << text << ": " << (parsed ? "" : parsed.error().message());
  return parsed ? *parsed : Parameter{};
}

std::string refusal(const std::string& text) {
  const auto parsed = parse_parameter(text);
  EXPECT_FALSE(parsed) << text;
  if (parsed) return "";
  EXPECT_EQ(parsed.error().kind(), ErrorKind::kInvalidArgument);
  return parsed.error().message();
}

std::vector<std::string> combinations(const Space& made) {
  std::vector<std::string> texts;
  const auto grid = made.grid(1000);
  EXPECT_TRUE(grid) << (grid ? "" : grid.error().message());
  for (const Assignment& one : *grid) texts.push_back(text_of(one));
  return texts;
}

TEST(Parameter, IsReadBackAsItIsWritten) {
  for (const char* text :
       {"lr=0.001..0.1", "lr=0.001..0.1:log", "lr=1e-10..1e+20:log:4", "units=16..256:int", "units=16..256:int:log",
        "n=-5..5:int:3", "activation=relu|tanh|gelu", "hidden-units=64,32|128,64", "optimizer=adam",
        "momentum=0.8..0.99 if optimizer=sgd|momentum", "file=../a|../b", "file=../a", "time=a:b|c:d",
        "n=-9223372036854775808..9223372036854775807:int"}) {
    EXPECT_EQ(text_of(parameter(text)), text);
  }
}

TEST(Parameter, TakesBlanksAndOtherSpellings) {
  EXPECT_EQ(text_of(parameter(" lr = 1e-3..1e-1:4:log ")), "lr=0.001..0.1:log:4");
  EXPECT_EQ(text_of(parameter("a = relu | tanh  if  b = x | y")), "a=relu|tanh if b=x|y");
}

TEST(Parameter, RefusesWithNamePlaceAndWhatToWrite) {
  EXPECT_THAT(refusal("lr"), HasSubstr("\"lr\" is no NAME=VALUES"));
  EXPECT_THAT(refusal("=1"), HasSubstr("no name of a parameter"));
  EXPECT_THAT(refusal("--lr=1"), HasSubstr("without its dashes"));
  EXPECT_THAT(refusal("a b=1"), HasSubstr("no name of a parameter"));
  EXPECT_THAT(refusal("lr=1e-4.."), HasSubstr("lr: \"\" in the range \"1e-4..\" is no number"));
  EXPECT_THAT(refusal("lr=..1"), HasSubstr("\"\" in the range"));
  EXPECT_THAT(refusal("lr=1..nan"), HasSubstr("\"nan\""));
  EXPECT_THAT(refusal("lr=1..inf"), HasSubstr("\"inf\""));
  EXPECT_THAT(refusal("lr=2..1"), HasSubstr("must begin below its end"));
  EXPECT_THAT(refusal("lr=0..1:log"), HasSubstr("must begin above 0"));
  EXPECT_THAT(refusal("lr=-1e308..1e308"), HasSubstr("wider than the largest number"));
  EXPECT_THAT(refusal("units=1.5..2:int"), HasSubstr("\"1.5\" in the range \"1.5..2:int\" is no whole number"));
  EXPECT_THAT(refusal("units=0..2:int:log"), HasSubstr("must begin above 0"));
  EXPECT_THAT(refusal("lr=0..1:lin"), HasSubstr("\"lin\" behind a colon"));
  EXPECT_THAT(refusal("lr=0..1:0"), HasSubstr("\"0\" behind a colon"));
  EXPECT_THAT(refusal("lr=0..1:"), HasSubstr("\"\" behind a colon"));
  EXPECT_THAT(refusal("a=x||y"), HasSubstr("value number 2 of \"x||y\" is empty"));
  EXPECT_THAT(refusal("a="), HasSubstr("value number 1"));
  EXPECT_THAT(refusal("a=x|y|x"), HasSubstr("\"x\" is there twice"));
  EXPECT_THAT(refusal("a=1..2 if b"), HasSubstr("the condition \"b\" is no OTHER=VALUE"));
  EXPECT_THAT(refusal("a=" + std::string(70'000, 'x')), HasSubstr("65536 bytes"));
}

TEST(Space, RefusesWhatDoesNotFitTogether) {
  const auto made = [](std::vector<std::string> texts) {
    std::vector<Parameter> parameters;
    for (const std::string& text : texts) parameters.push_back(parameter(text));
    const auto space = Space::create(std::move(parameters));
    return space ? "" : space.error().message();
  };
  EXPECT_THAT(made({}), HasSubstr("there is no parameter to search"));
  EXPECT_THAT(made({"a=1", "a=2"}), HasSubstr("a is given twice"));
  EXPECT_THAT(made({"a=1 if b=x", "b=x"}), HasSubstr("b, which is not given before this one"));
  EXPECT_THAT(made({"b=x|y", "a=1 if b=z"}), HasSubstr("b=z, which b never is; its values are b=x|y"));
  EXPECT_THAT(made({"b=0..1", "a=1 if b=0.5"}), HasSubstr("never is"));
  EXPECT_EQ(made({"b=1..3:int", "a=1 if b=2|3"}), "");
  EXPECT_THAT(made(std::vector<std::string>(1001, "a=1")), HasSubstr("1,000"));
}

TEST(Space, ComesFromJson) {
  const auto made = Space::from_json(R"({"lr": "1e-3..1e-1:log", "optimizer": "sgd|adam", "n": 3})", "space.json");
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_EQ(made->parameters().size(), 3u);
  EXPECT_EQ(text_of(made->parameters()[0]), "lr=0.001..0.1:log");
  EXPECT_EQ(text_of(made->parameters()[2]), "n=3");
  for (const char* text : {"", "[]", "3", "null", "{\"a\": [1]}", "{\"a\": {}}", "{\"a\": null}", "{\"a\": true}",
                           "{\"a\": \"1\"", "{\"a\":\"1\",\"a\":\"2\"}", "[[[[[[1]]]]]]"}) {
    const auto refused = Space::from_json(text, "space.json");
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(), HasSubstr("space.json")) << text;
  }
  EXPECT_THAT(Space::from_json(R"({"a": "1.."})", "space.json").error().message(), HasSubstr("space.json: a: "));
}

TEST(Space, GivesAllCombinationsOfAGridInOrder) {
  EXPECT_THAT(combinations(space_of({"a=x|y", "b=1..3:int"})),
              ElementsAre("a x, b 1", "a x, b 2", "a x, b 3", "a y, b 1", "a y, b 2", "a y, b 3"));
  EXPECT_THAT(combinations(space_of({"lr=1e-4..1e-1:log:4"})), ElementsAre("lr 1e-04", "lr 0.001", "lr 0.01", "lr 0.1"));
  EXPECT_THAT(combinations(space_of({"d=0..1:3"})), ElementsAre("d 0", "d 0.5", "d 1"));
  EXPECT_THAT(combinations(space_of({"n=1..3:int:100"})), ElementsAre("n 1", "n 2", "n 3"));
  EXPECT_THAT(combinations(space_of({"n=16..256:int:log:3"})), ElementsAre("n 16", "n 64", "n 256"));
}

TEST(Space, HonoursConditionsWithoutDoubles) {
  EXPECT_THAT(combinations(
                  space_of({"optimizer=sgd|adam", "momentum=0.5|0.9 if optimizer=sgd", "nesterov=yes|no if momentum=0.9"})),
              ElementsAre("optimizer sgd, momentum 0.5", "optimizer sgd, momentum 0.9, nesterov yes",
                          "optimizer sgd, momentum 0.9, nesterov no", "optimizer adam"));
}

TEST(Space, RefusesAGridWithoutEnd) {
  const auto real = space_of({"lr=1e-3..1e-1:log"}).grid(100);
  ASSERT_FALSE(real);
  EXPECT_THAT(real.error().message(), HasSubstr("lr: a grid needs to know"));
  EXPECT_THAT(real.error().message(), HasSubstr("lr=0.001..0.1:log:4"));
  const auto large = space_of({"a=1..1000:int", "b=1..1000:int"}).grid(10'000);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message(), HasSubstr("more than 10000 combinations"));
  EXPECT_FALSE(space_of({"a=-9223372036854775808..9223372036854775807:int"}).grid(100));
}

TEST(Space, CountsTrialsThatDiffer) {
  EXPECT_EQ(space_of({"a=x|y", "b=1..3:int"}).count(100), 6u);
  EXPECT_EQ(space_of({"a=x|y", "b=1..3:int"}).count(5), std::nullopt);
  EXPECT_EQ(space_of({"a=x|y", "b=0..1 if a=x"}).count(100), std::nullopt);
  EXPECT_EQ(space_of({"lr=0..1:2"}).count(100), std::nullopt);
  EXPECT_EQ(space_of({"n=1..8:int:2"}).count(100), 8u);  // The points are those of a grid.
}

}  // namespace
}  // namespace shoal::tuning
