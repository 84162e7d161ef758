// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/text_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "shoal/base/random.h"
#include "shoal/graph/graph_json.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/source.h"

namespace shoal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Vocabulary> animals() {
  return std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make({"cat", "dog", "eel"})));
}

template <class F>
std::string raised(F call) {
  try {
    call();
  } catch (const Exception& exception) {
    return exception.what();
  }
  return "";
}

std::vector<int64_t> ids(const TextEncoding& encoding, const Tensor& texts) {
  const Tensor found = value_or_raise(encoding.ids_of(texts));
  EXPECT_EQ(found.shape(), texts.shape());
  return {found.as<int64_t>().begin(), found.as<int64_t>().end()};
}

// What `printf abc | xxhsum -H3` prints (Debian's xxhash 0.8).
TEST(TextIds, HashesAreFixed) {
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2u);
  EXPECT_EQ(hash64("a"), 0xe6c632b61e964e1fu);
  EXPECT_EQ(hash64("abc"), 0x78af5f94892f3950u);
  const TextEncoding encoding{.buckets = 1000, .missing = {}};
  EXPECT_THAT(ids(encoding, Tensor::of_strings(Shape{3}, {"", "a", "abc"})),
              ElementsAre(0x2d06800538d394c2u % 1000, 0xe6c632b61e964e1fu % 1000, 0x78af5f94892f3950u % 1000));
  EXPECT_THAT(ids({.missing = {}}, Tensor::of_strings(Shape{1}, {"a"})), ElementsAre(int64_t(0xe6c632b61e964e1fu)));
}

TEST(TextIds, AVocabularyKnowsItsNames) {
  const Tensor texts = Tensor::of_strings(Shape{2, 2}, {"eel", "cow", "", "cat"});
  EXPECT_THAT(ids({.vocabulary = animals()}, texts), ElementsAre(2, -1, -1, 0));
  EXPECT_THAT(ids({.vocabulary = animals(), .unknown_id = 1, .missing_id = 3}, texts), ElementsAre(2, 1, 3, 0));
  const TextEncoding buckets{.vocabulary = animals(), .buckets = 5};
  EXPECT_THAT(ids(buckets, texts), ElementsAre(2, 3 + int64_t(hash64("cow") % 5), -1, 0));
  EXPECT_EQ(buckets.size(), 8);
  const TextEncoding strict{.vocabulary = animals(), .refuse_unknown = true};
  EXPECT_EQ(strict.ids_of(texts).error().message(),
            "row 0 of the batch: \"cow\" is not among the 3 names of the vocabulary: cat, dog, eel");
  const TextEncoding complete{.vocabulary = animals(), .refuse_unknown = true, .missing = {}};
  EXPECT_EQ(complete.id_of("").error().message(),
            "the text is missing: \"\" is not among the 3 names of the vocabulary: cat, dog, eel");
  std::vector<std::string> many;
  for (int i = 0; i < 11; ++i) many.push_back(std::to_string(i));
  const TextEncoding long_one{.vocabulary = std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make(many))),
                              .refuse_unknown = true};
  EXPECT_EQ(long_one.id_of("x").error().message(),
            "\"x\" is not among the 11 names of the vocabulary: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...");
  EXPECT_THAT(ids({.vocabulary = animals(), .missing = {"?", "n/a"}, .missing_id = 7},
                  Tensor::of_strings(Shape{3}, {"?", "n/a", ""})),
              ElementsAre(7, 7, -1));
}

TEST(TextIds, IntegersCountAsTheirDigits) {
  const auto numbers = std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make({"-3", "40"})));
  EXPECT_THAT(ids({.vocabulary = numbers}, Tensor::of<int64_t>(Shape{3}, {40, -3, 5})), ElementsAre(1, 0, -1));
  EXPECT_THAT(ids({.vocabulary = numbers}, Tensor::of<int32_t>(Shape{1}, {40})), ElementsAre(1));
  EXPECT_THAT(ids({.vocabulary = numbers}, Tensor::of<uint8_t>(Shape{1}, {40})), ElementsAre(1));
  const Tensor reals = Tensor::of<float>(Shape{1}, {1});
  EXPECT_THAT(TextEncoding{}.ids_of(reals).error().message(), HasSubstr("expected text or integers, but got float32 [1]"));
}

TEST(TextIds, EqualEncodingsOfAnInputAreOneValue) {
  Graph graph;
  const Value text = graph.input("features/pet", DType::kString, {Dim::symbol("batch")});
  const Value a = text_ids(text, {.vocabulary = animals()}), b = text_ids(text, {.vocabulary = animals()});
  const Value c = text_ids(text, {.buckets = 9});
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(a.dtype(), DType::kInt64);
  EXPECT_EQ(graph.node(a.node()).name, "features/pet:ids");
  EXPECT_EQ(graph.node(c.node()).name, "features/pet:ids_1");
  const auto scope = graph.scope("layer");
  EXPECT_EQ(text_ids(text, {.buckets = 9}), c);
}

TEST(TextIds, SurviveADescriptionOfTheGraph) {
  Graph graph;
  const Value text = graph.input("pet", DType::kString, {Dim::symbol("batch")});
  const TextEncoding encoding{.vocabulary = animals(),
                              .buckets = 2,
                              .refuse_unknown = true,
                              .unknown_id = -5,
                              .missing = {"?", "\u00e9\"\n"},
                              .missing_id = 4};
  const Value encoded = text_ids(text, encoding);
  const auto again = value_or_raise(graph_from_json(graph.to_json()));
  EXPECT_EQ(again->fingerprint(), graph.fingerprint());
  const EncodedInput from = value_or_raise(encoded_input(again->node(encoded.node()))).value();
  EXPECT_EQ(from.of, "pet");
  EXPECT_EQ(from.encoding.to_json(), encoding.to_json());
  EXPECT_EQ(from.encoding.vocabulary->name(2), "eel");
  EXPECT_EQ(from.encoding.missing, encoding.missing);
  EXPECT_FALSE(value_or_raise(encoded_input(again->node(0))).has_value());
}

TEST(TextIds, OpsRefuseText) {
  Graph graph;
  const Value text = graph.input("pet", DType::kString, {2});
  EXPECT_THAT(raised([&] { ops::reshape(text, {2, 1}, "r"); }), HasSubstr("operand 0 is text (\"pet\")"));
  EXPECT_THAT(raised([&] { graph.constant(Tensor::of_strings(Shape{1}, {"a"})); }), HasSubstr("strings cannot be inside"));
}

TEST(TextIds, RefusesWhatIsNoInputOrNoEncoding) {
  Graph graph;
  const Value floats = graph.input("x", DType::kFloat32, {2}), text = graph.input("t", DType::kString, {2});
  EXPECT_THAT(raised([&] { text_ids(floats, {}); }), HasSubstr("expected a feature or labels of text or integers"));
  EXPECT_THAT(raised([&] { text_ids(ops::cast(floats, DType::kInt64), {}); }), HasSubstr("expected a feature"));
  EXPECT_THAT(raised([&] { text_ids(text_ids(text, {}), {}); }), HasSubstr("expected a feature"));
  EXPECT_THAT(raised([&] { text_ids(Value(), {}); }), HasSubstr("not a value of a graph"));
  EXPECT_THAT(raised([&] { text_ids(text, {.buckets = -1}); }), HasSubstr("buckets is -1"));
  EXPECT_THAT(raised([&] { text_ids(text, {.missing = {"\xff"}}); }), HasSubstr("no UTF-8"));
  const auto none = std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make({})));
  EXPECT_THAT(raised([&] { text_ids(text, {.vocabulary = none}); }), HasSubstr("the vocabulary is empty"));
}

TEST(TextIds, ABrokenDescriptionIsDataLoss) {
  for (const std::string text : {"", "[]", "{}", R"({"names":[1],"buckets":0})",
                                 R"({"names":["a","a"],"buckets":0,)"
                                 R"("refuse_unknown":true,"unknown_id":-1,"missing":[],"missing_id":-1})",
                                 R"({"buckets":-1,"refuse_unknown":true,"unknown_id":-1,"missing":[],"missing_id":-1})",
                                 R"({"buckets":1e300,"refuse_unknown":true,"unknown_id":-1,"missing":[],"missing_id":-1})",
                                 R"({"buckets":1,"refuse_unknown":true,"unknown_id":-1,"missing":"x","missing_id":-1})"}) {
    const auto encoding = TextEncoding::from_json(text);
    ASSERT_FALSE(encoding) << text;
    EXPECT_EQ(encoding.error().kind(), ErrorKind::kDataLoss) << text;
  }
  Node node{.op = "input", .name = "i", .attributes = {{"text_of", int64_t(3)}}, .outputs = {{DType::kInt64, {1}}}};
  EXPECT_EQ(encoded_input(node).error().kind(), ErrorKind::kDataLoss);
  node.attributes = {{"text_of", std::string("t")}, {"text_encoding", TextEncoding{}.to_json()}};
  EXPECT_TRUE(encoded_input(node));
  node.outputs[0].dtype = DType::kFloat32;
  EXPECT_THAT(encoded_input(node).error().message(), HasSubstr("is float32, but ids of text are int64"));
}

TEST(Vocabulary, HasNoNamesOfOtherIds) {
  EXPECT_EQ(animals()->name(2), "eel");
  EXPECT_EQ(raised([] { static_cast<void>(animals()->name(3)); }), "vocabulary: the id 3 does not exist; ids are 0 to 2");
  EXPECT_THAT(raised([] { static_cast<void>(animals()->name(-1)); }), HasSubstr("the id -1 does not exist"));
}

/// What is looked for among all nodes takes minutes at 30,000 features, and what is looked up takes a fraction of a second.
TEST(TextIds, OfManyFeaturesTakeTimeByTheirNumber) {
  constexpr int kFeatures = 30000;
  const std::clock_t begin = std::clock();
  Graph graph;
  for (int i = 0; i < kFeatures; ++i) {
    const Value text = graph.input("features/w" + std::to_string(i), DType::kString, {Dim::symbol("batch")});
    const Value ids = text_ids(text, {.buckets = 5}), others = text_ids(text, {.buckets = 7});
    ASSERT_NE(ids, others);
    ASSERT_EQ(text_ids(text, {.buckets = 5}), ids);
  }
  EXPECT_EQ(graph.nodes().size(), size_t(3 * kFeatures));
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 10);
}

}  // namespace
}  // namespace shoal
