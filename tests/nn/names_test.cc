// SPDX-License-Identifier: Apache-2.0
// Values and classes by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "graph_runner.h"
#include "shoal/nn/text_classes.h"
#include "shoal/nn/value_map.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ValueMap, KeepsValuesInTheOrderOfTheirNames) {
  Graph graph;
  const Value a = graph.input("a", DType::kFloat32, {1}), b = graph.input("b", DType::kFloat32, {1});
  ValueMap map{{"width", b}, {"age", a}};
  EXPECT_EQ(map.names(), "age, width");
  EXPECT_EQ(map["width"], b);
  EXPECT_EQ(map.find("height"), nullptr);
  EXPECT_FALSE(map.is_single());
  map.set("width", a);
  EXPECT_EQ(map.size(), 2u);
  EXPECT_EQ(map["width"], a);
  EXPECT_THAT(raised([&] { (void)map["height"]; }), HasSubstr("no value named \"height\"; there are: age, width"));
  EXPECT_THAT(raised([&] { (void)map.single(); }), HasSubstr("they have names: age, width"));
}

TEST(ValueMap, ALoneValueHasNoName) {
  Graph graph;
  const Value a = graph.input("a", DType::kFloat32, {1});
  const ValueMap lone(a);
  EXPECT_TRUE(lone.is_single());
  EXPECT_EQ(lone.single(), a);
  EXPECT_TRUE(ValueMap(Value()).empty());
  EXPECT_THAT(raised([&] { (void)ValueMap().single(); }), HasSubstr("there is none"));
}

TEST(Vocabulary, FindsIdsAndRefusesTwins) {
  const Vocabulary vocabulary = value_or_raise(Vocabulary::make({"cat", "dog", "eel"}));
  EXPECT_EQ(vocabulary.size(), 3);
  EXPECT_EQ(vocabulary.find("eel"), 2);
  EXPECT_EQ(vocabulary.find("Eel"), -1);
  EXPECT_EQ(vocabulary.name(1), "dog");
  EXPECT_THAT(Vocabulary::make({"cat", "dog", "cat"}).error().message(), HasSubstr("\"cat\" occurs twice"));
  EXPECT_THAT(
      Vocabulary::make({"cat", "d\xff"}).error().message(),
      HasSubstr("name 1 (\"d\\xFF\") is no UTF-8: its byte 1 (counted from 0) is 0xFF; make what it comes from UTF-8"));
}

class TextClasses : public testing::Test {
 protected:
  std::shared_ptr<const Vocabulary> vocabulary_ =
      std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make({"cat", "dog", "eel"})));
};

TEST_F(TextClasses, IdsBecomeText) {
  const Tensor ids = Tensor::of<int64_t>(Shape{2, 1}, {1, 2});
  const Tensor named = value_or_raise(TextPrediction("classes", "class_ids", vocabulary_).map(ids.view()));
  EXPECT_EQ(named.shape(), (Shape{2, 1}));
  EXPECT_THAT(named.strings(), ElementsAre("dog", "eel"));
  const Tensor digits = value_or_raise(TextPrediction("classes", "class_ids", nullptr).map(ids.view()));
  EXPECT_THAT(digits.strings(), ElementsAre("1", "2"));
  EXPECT_THAT(TextPrediction("classes", "class_ids", vocabulary_).vocabulary(), ElementsAre("cat", "dog", "eel"));
  EXPECT_TRUE(TextPrediction("classes", "class_ids", nullptr).vocabulary().empty());
  const Tensor wrong = Tensor::of<int64_t>(Shape{1}, {3});
  EXPECT_THAT(TextPrediction("classes", "class_ids", vocabulary_).map(wrong.view()).error().message(),
              HasSubstr("no class 3"));
}

TEST_F(TextClasses, PositionsBecomeText) {
  const Tensor probabilities = Tensor::zeros(DType::kFloat32, Shape{2, 3});
  const auto text = TextPrediction::of_positions("classes", "probabilities", vocabulary_);
  EXPECT_THAT(value_or_raise(text.map(probabilities.view())).strings(),
              ElementsAre("cat", "dog", "eel", "cat", "dog", "eel"));
  EXPECT_EQ(text.below("pets/").key(), "pets/classes");
  EXPECT_EQ(text.below("pets/").source(), "pets/probabilities");
  EXPECT_TRUE(text.below("pets/").by_position());
}

}  // namespace
}  // namespace shoal::nn
