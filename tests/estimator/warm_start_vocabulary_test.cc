// SPDX-License-Identifier: Apache-2.0
// Rows that move with their tokens, and warm starts that are refused (CONTRACT EST-14).
#include "shoal/estimator/warm_start.h"
#include "shoal/graph/vocabulary.h"
#include "warm_start_fixture.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Tokens = std::vector<std::string>;

// Rows by token.

/// The old table has five rows: four tokens and one row behind them. The new one has six, for five tokens.
TEST_F(WarmStartTest, MovesRowsByToken) {
  const Params params{{"words", 6}};
  const WarmStart start{
      .from = from(),
      .vocabularies = {{"words/table",
                        {.old_tokens = {"ant", "bee", "cow", "dog"}, .new_tokens = {"dog", "eel", "ant", "fox", "bee"}}}}};
  const std::string fresh = begun({}, params).at("words/table"), old = old_bits().at("words/table");
  std::string expected;
  expected += row_of_bits(old, 3);    // dog
  expected += row_of_bits(fresh, 1);  // eel is new
  expected += row_of_bits(old, 0);    // ant
  expected += row_of_bits(fresh, 3);  // fox is new
  expected += row_of_bits(old, 1);    // bee
  expected += row_of_bits(fresh, 5);  // behind the vocabulary
  Bits all = with(begun({}, params), old_bits(), {"batch_norm/scale", "batch_norm/shift", "out/bias", "out/kernel"});
  all["words/table"] = expected;
  EXPECT_EQ(begun(start, params), all);
}

TEST_F(WarmStartTest, SaysHowManyRowsItMoved) {
  Estimator estimator = make({{"words", 6}});
  const Vocabulary old = value_or_raise(Vocabulary::make({"ant", "bee", "cow"}));
  estimator
      .warm_start({.from = from(),
                   .variables = std::nullopt,
                   .vocabularies = {{"words/table", {.old_tokens = old.names(), .new_tokens = {"cow", "emu", "ant"}}}}})
      .train(sentences, {.steps = 1});
  EXPECT_EQ(place_.log.count('I', "warm start: 1 of 7 variables"), 1);
  EXPECT_EQ(place_.log.count('I', "2 of the 6 rows of words/table"), 1);
}

TEST_F(WarmStartTest, OtherRowsMayHaveAnInitializerOfTheirOwn) {
  const Params params{{"words", 4}};
  const WarmStart start{
      .from = from(),
      .variables = std::nullopt,
      .vocabularies = {
          {"words/table",
           {.old_tokens = {"ant", "bee"}, .new_tokens = {"bee", "cow", "ant"}, .backup_initializer = nn::constant(0.5)}}}};
  const std::string old = old_bits().at("words/table"), got = begun(start, params).at("words/table");
  const std::vector<float> halves(3, 0.5f);
  const std::string half(reinterpret_cast<const char*>(halves.data()), halves.size() * sizeof(float));
  EXPECT_EQ(got, row_of_bits(old, 1) + half + row_of_bits(old, 0) + half);
}

/// Kernel and bias of the last layer have a row for each class.
TEST_F(WarmStartTest, MovesClassesOfTheLastLayer) {
  const Params params{{"classes", 4}};
  const VocabularyChange classes{.old_tokens = {"no", "maybe", "yes"}, .new_tokens = {"yes", "never", "no", "always"}};
  const Bits got = begun({{.from = from(), .vocabularies = {{"out/kernel", classes}, {"out/bias", classes}}}}, params);
  const Bits fresh = begun({}, params), old = old_bits();
  for (const auto& [name, width] : {std::pair<std::string, size_t>{"out/kernel", 3}, {"out/bias", 1}}) {
    EXPECT_EQ(got.at(name), row_of_bits(old.at(name), 2, width) + row_of_bits(fresh.at(name), 1, width) +
                                row_of_bits(old.at(name), 0, width) + row_of_bits(fresh.at(name), 3, width));
  }
}

TEST_F(WarmStartTest, AMovedVariableMayHaveHadAnotherName) {
  const Params params{{"scope", "classes"}};
  const VocabularyChange same{.old_tokens = {"no", "maybe", "yes"}, .new_tokens = {"yes", "maybe", "no"}};
  const Bits got = begun({{.from = from(),
                           .variables = std::nullopt,
                           .names = {{"classes/bias", "out/bias"}},
                           .vocabularies = {{"classes/bias", same}}}},
                         params);
  const std::string old = old_bits().at("out/bias");
  EXPECT_EQ(got.at("classes/bias"), row_of_bits(old, 2, 1) + row_of_bits(old, 1, 1) + row_of_bits(old, 0, 1));
}

// Refused warm starts.

TEST_F(WarmStartTest, APatternThatMatchesNothingIsNamedWithWhatThereIs) {
  EXPECT_THAT(refused({.from = from(), .variables = "batch_norm/moving.*"}),
              AllOf(HasSubstr("\"batch_norm/moving.*\" matches no trainable variable"),
                    HasSubstr("there are: words/table, batch_norm/scale, batch_norm/shift, out/kernel, out/bias")));
  EXPECT_THAT(refused({.from = from(), .variables = {"out/.*", "batch"}}),  // A pattern has to match a whole name.
              AllOf(HasSubstr("\"batch\" matches no variable"), HasSubstr("batch_norm/moving_mean")));
  EXPECT_THAT(refused({.from = from(), .variables = {"!batch"}}), HasSubstr("\"!batch\" leaves out no "));
}

TEST_F(WarmStartTest, ANameThatMatchesNothingIsNamedWithWhatThereIs) {
  EXPECT_THAT(refused({.from = from(), .names = {{"out/kernl", "out/kernel"}}}),
              AllOf(HasSubstr("names: the model has no variable out/kernl"), HasSubstr("there are: words/table, ")));
  EXPECT_THAT(refused({.from = from(), .names = {{"out/kernel", "out/kernl"}}}),
              AllOf(HasSubstr(from() + "/model.ckpt-4 has no variable out/kernl"), HasSubstr("out/kernel is to start"),
                    HasSubstr("there are: batch_norm/moving_mean, "), HasSubstr("out/kernel, words/table")));
  const VocabularyChange some{.old_tokens = {"a"}, .new_tokens = {"a"}};
  EXPECT_THAT(refused({.from = from(), .vocabularies = {{"word/table", some}}}),
              AllOf(HasSubstr("vocabularies: the model has no variable word/table"), HasSubstr("words/table")));
  // With the default choice, too, all variables have to be there.
  EXPECT_THAT(refused({.from = from()}, {{"scope", "classes"}}), HasSubstr("has no variable classes/kernel"));
}

/// The values of an optimizer are no variables of a model.
TEST_F(WarmStartTest, SlotsAreNoVariables) {
  const std::string slot = old_bits().upper_bound("out/kernel")->first;
  ASSERT_THAT(slot, ::testing::StartsWith("out/kernel/"));
  EXPECT_THAT(refused({.from = from(), .variables = {slot}}), HasSubstr("matches no variable"));
  EXPECT_THAT(refused({.from = from(), .names = {{"out/kernel", slot}}}), HasSubstr("has no variable " + slot));
}

TEST_F(WarmStartTest, WhatIsNotChosenCannotBeMapped) {
  EXPECT_THAT(refused({.from = from(), .variables = "words/.*", .names = {{"out/kernel", "out/bias"}}}),
              AllOf(HasSubstr("names: out/kernel is not among"), HasSubstr("which are: words/table")));
  const VocabularyChange some{.old_tokens = {"a"}, .new_tokens = {"a"}};
  EXPECT_THAT(refused({.from = from(), .variables = "words/.*", .vocabularies = {{"out/bias", some}}}),
              HasSubstr("vocabularies: out/bias is not among"));
}

TEST_F(WarmStartTest, OtherShapesAreNamedBothOfThem) {
  EXPECT_THAT(
      refused({.from = from()}, {{"words", 6}}),
      AllOf(HasSubstr("variable words/table is float32 [6, 3] in the model"), HasSubstr("float32 [5, 3] in checkpoint")));
  // Rows by token may differ in number, but not in size.
  const VocabularyChange some{.old_tokens = {"a"}, .new_tokens = {"a"}};
  EXPECT_THAT(
      refused({.from = from(),
               .variables = std::nullopt,
               .names = {{"out/kernel", "out/bias"}},
               .vocabularies = {{"out/kernel", some}}}),
      AllOf(HasSubstr("out/kernel"), HasSubstr("[3, 3]"), HasSubstr("[3] in checkpoint"), HasSubstr("as out/bias")));
}

TEST_F(WarmStartTest, AVocabularyHasNoMoreTokensThanThereAreRows) {
  const Tokens five = {"a", "b", "c", "d", "e"}, six = {"a", "b", "c", "d", "e", "f"};
  EXPECT_THAT(refused({.from = from(), .vocabularies = {{"words/table", {.old_tokens = six, .new_tokens = five}}}}),
              AllOf(HasSubstr("words/table: old_tokens are 6"), HasSubstr("5 rows")));
  EXPECT_THAT(refused({.from = from(), .vocabularies = {{"words/table", {.old_tokens = five, .new_tokens = six}}}}),
              HasSubstr("new_tokens are 6"));
}

TEST_F(WarmStartTest, MistakesThatNeedNoModelAreRefusedAtOnce) {
  const auto at_once = [this](WarmStart start) {
    Estimator estimator = make();
    const std::string sentence = refusal([&] { estimator.warm_start(std::move(start)); });
    EXPECT_EQ(estimator.warm_start(), nullptr);
    return sentence;
  };
  EXPECT_THAT(at_once({}), HasSubstr("`from`"));
  EXPECT_THAT(at_once({.from = "m", .variables = "out/("}), HasSubstr("\"out/(\" is not a regular expression"));
  EXPECT_THAT(at_once({.from = "m", .variables = std::vector<std::string>{}}), HasSubstr("no variable is chosen"));
  EXPECT_THAT(at_once({.from = "m", .variables = std::nullopt}), HasSubstr("no variable is chosen"));
  EXPECT_THAT(at_once({.from = "m", .vocabularies = {{"t", {.old_tokens = {"a", "a"}, .new_tokens = {"a"}}}}}),
              AllOf(HasSubstr("t: old_tokens"), HasSubstr("\"a\" occurs twice")));
  EXPECT_THAT(at_once({.from = "m", .vocabularies = {{"t", {.old_tokens = {"a"}, .new_tokens = {}}}}}),
              HasSubstr("t: new_tokens is empty"));
}

/// A model may have variables that only training needs.
TEST_F(WarmStartTest, OtherModesPassOverWhatTheyLack) {
  const ModelFn model = [](const Features& features, const Labels& labels, Mode mode, const Params& params,
                           const RunConfig& config) {
    if (mode == Mode::kTrain) nn::embedding(features.single(), {.ids = 5, .dimension = 3, .name = "extra"});
    return word_model(features, labels, mode, params, config);
  };
  const WarmStart start{.from = from(), .variables = {"extra/.*", "out/bias"}, .names = {{"extra/table", "words/table"}}};
  Estimator estimator = make({}, model);
  estimator.warm_start(start);
  EXPECT_EQ(estimator.evaluate(sentences, {.steps = 1}).at("global_step"), 0);
  estimator.train(sentences, {.steps = 1});
  EXPECT_EQ(tensors(place_.model_dir() + "/model.ckpt-0").at("extra/table"), old_bits().at("words/table"));
  Place other;
  Estimator mistaken = other.estimator(model);
  mistaken.warm_start({.from = from(), .variables = "ot/.*"});
  EXPECT_THAT(refusal([&] { (void)mistaken.evaluate(sentences, {.steps = 1}); }), HasSubstr("there are: words/table"));
}

}  // namespace
}  // namespace shoal::testing
