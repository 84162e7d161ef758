// SPDX-License-Identifier: Apache-2.0
// What heads record of what their logits stand for: every change of it shows, in each mode the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/graph/meaning.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/head.h"

namespace shoal::nn {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

/// Of logits for all heads; labels are text where `text` says so.
Meaning recorded(const Head& head, Mode mode, DType labels = DType::kInt64, std::vector<std::string> label_names = {""}) {
  Graph graph;
  const Dim batch = Dim::symbol("batch");
  HeadInput input{.mode = mode, .logits = graph.input("logits", DType::kFloat32, {batch, head.logits_dimension()})};
  if (mode != Mode::kPredict) {
    for (const std::string& name : label_names)
      input.labels.set(name, graph.input(name.empty() ? "labels" : "labels/" + name, labels, {batch, 1}));
  }
  head.describe(input);
  return graph.meaning();
}

/// What differs once training is over: predictions are compared, which have no labels.
std::string difference(const Head& before, const Head& now, DType labels = DType::kInt64) {
  return meaning_difference(recorded(before, Mode::kTrain, labels), recorded(now, Mode::kPredict), MeaningScope::kPart)
      .value_or("");
}

TEST(HeadMeaning, EveryChangeOfClassesShows) {
  const auto three = [](Names names) { return multi_class_head({.n_classes = 3, .label_vocabulary = std::move(names)}); };
  EXPECT_EQ(difference(*three({"a", "b", "c"}), *three({"a", "b", "c"}), DType::kString), "");
  EXPECT_THAT(
      difference(*three({"a", "b", "c"}), *three({"a", "c", "b"}), DType::kString),
      HasSubstr("the head: multi_class_head (3 classes: a, b, c; logits 3) before, multi_class_head (3 classes: a, c, "
                "b; logits 3) now; number 1 of the classes was \"b\" and is \"c\""));
  EXPECT_THAT(difference(*three({}), *multi_class_head({.n_classes = 4})),
              HasSubstr("logits 3) before, multi_class_head (logits 4"));
  EXPECT_THAT(difference(*binary_head({.label_vocabulary = {"no", "yes"}}),
                         *binary_head({.label_vocabulary = {"yes", "no"}}), DType::kString),
              HasSubstr("number 0 of the classes was \"no\" and is \"yes\""));
  EXPECT_THAT(difference(*multi_label_head({.n_classes = 2, .label_vocabulary = {"a", "b"}}),
                         *multi_label_head({.n_classes = 2, .label_vocabulary = {"b", "a"}}), DType::kString),
              HasSubstr("number 0 of the classes"));
}

TEST(HeadMeaning, KindsWidthsAndLinksShow) {
  EXPECT_THAT(
      difference(*regression_head(), *poisson_regression_head()),
      HasSubstr("the head: regression_head (logits 1) before, poisson_regression_head (inverse_link yes; logits 1)"));
  EXPECT_THAT(difference(*binary_head(), *logistic_regression_head()), HasSubstr("the head: binary_head (logits 1)"));
  const auto exp = [](Value logits) { return ops::exp(logits); };
  EXPECT_THAT(difference(*regression_head(), *regression_head({.inverse_link = exp})), HasSubstr("inverse_link yes"));
  EXPECT_EQ(difference(*regression_head(), *regression_head({.weight_column = "w"})), "");
}

TEST(HeadMeaning, EachOfSeveralHeadsShows) {
  const auto two = [](int64_t width, bool turned) {
    std::shared_ptr<const Head> a = regression_head({.name = "a"}),
                                b = regression_head({.label_dimension = width, .name = "b"});
    return multi_head(turned ? std::vector{b, a} : std::vector{a, b});
  };
  const auto meaning = [](const Head& head, Mode mode) { return recorded(head, mode, DType::kFloat32, {"a", "b"}); };
  const Meaning before = meaning(*two(1, false), Mode::kTrain);
  const auto compared = [&before](const Meaning& now) {
    return meaning_difference(before, now, MeaningScope::kWhole).value_or("");
  };
  EXPECT_EQ(compared(meaning(*two(1, false), Mode::kPredict)), "");
  EXPECT_THAT(compared(meaning(*two(1, true), Mode::kPredict)),
              HasSubstr("number 0 of the heads was \"a 1\" and is \"b 1\""));
}

TEST(HeadMeaning, IsTheSameInEachModeButForLabels) {
  const auto head = binary_head({.label_vocabulary = {"no", "yes"}});
  const Meaning train = recorded(*head, Mode::kTrain, DType::kString);
  EXPECT_EQ(train, recorded(*head, Mode::kEval, DType::kString));
  EXPECT_TRUE(train.facts().contains("labels"));
  const Meaning predict = recorded(*head, Mode::kPredict);
  EXPECT_FALSE(predict.facts().contains("labels"));
  EXPECT_EQ(predict.facts().at("head"), train.facts().at("head"));
}

}  // namespace
}  // namespace shoal::nn
