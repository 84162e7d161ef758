// SPDX-License-Identifier: Apache-2.0
// What columns record of what their ids stand for: every change of it shows, an order of columns does not.
#include "shoal/graph/meaning.h"
#include "fixture.h"

namespace shoal::columns {
namespace {

using Words = std::vector<std::string>;

data::TensorMap table() {
  data::TensorMap features;
  features.set("age", Tensor::of<float>({2}, {20, 50}));
  features.set("id", Tensor::of<int64_t>({2}, {0, 1}));
  features.set("wood", Tensor::of_strings({2}, {"ash", "oak"}));
  features.set("rock", Tensor::of_strings({2}, {"gneiss", "slate"}));
  features.set("weight", Tensor::of<float>({2}, {1, 2}));
  return features;
}

/// A graph whose inputs are the columns of the table. They have the names that an Estimator gives to inputs.
class TableGraph {
 public:
  TableGraph() {
    for (const auto& [name, tensor] : table())
      features.set(name, graph.input("features/" + name, tensor.dtype(), {Dim::symbol("batch")}));
  }
  Graph graph;
  nn::ValueMap features;
};

/// What a deep part of these columns records.
Meaning deep(const std::vector<Column>& columns) {
  TableGraph inputs;
  input_layer(inputs.features, columns);
  return inputs.graph.meaning();
}
Meaning deep(const Column& column) { return deep(std::vector{column}); }

Meaning linear(const std::vector<Column>& columns, const LinearLayerOptions& options = {}) {
  TableGraph inputs;
  linear_layer(inputs.features, columns, options);
  return inputs.graph.meaning();
}

std::string difference(const Meaning& before, const Meaning& now) {
  return meaning_difference(before, now, MeaningScope::kWhole).value_or("");
}

Column wood(Words words = {"ash", "oak"}, VocabularyOptions options = {}) {
  return categorical_by_vocabulary("wood", std::move(words), std::move(options));
}
Value halved(Value x) { return ops::scale(x, 0.5); }

TEST(ColumnMeaning, EveryChangeShows) {
  const auto differs = [](const Column& before, const Column& now, const std::string& words) {
    EXPECT_EQ(difference(deep(before), deep(before)), "");
    EXPECT_THAT(difference(deep(before), deep(now)), HasSubstr(words));
  };
  const Column age = numeric("age");
  differs(age, numeric("age", {.normalizer = halved}), "feature \"age\": numeric before, numeric (normalizer yes) now");
  differs(bucketized(age, {18, 30}), bucketized(age, {18, 40}), "number 1 of the boundaries was \"30\" and is \"40\"");
  differs(bucketized(age, {18, 30}), bucketized(age, {18}, {.missing_bucket = true}), "missing_bucket yes");
  differs(indicator(categorical_by_identity("id", {.count = 4})), indicator(categorical_by_identity("id", {.count = 5})),
          "feature \"id\": identity (count 4) before, identity (count 5)");
  differs(indicator(categorical_by_identity("id", {.count = 4})),
          indicator(categorical_by_identity("id", {.count = 4, .default_id = 0})), "default_id 0");
  differs(indicator(wood()), indicator(wood({"oak", "ash"})), "number 0 of the words was \"ash\" and is \"oak\"");
  differs(indicator(wood({"ash", "oak"}, {.oov_buckets = 1})), indicator(wood({"ash", "oak", "yew"})), "oov_buckets 1");
  differs(indicator(wood({"ash", "oak", "yew"})), indicator(wood({"ash", "oak"}, {.missing_bucket = true})),
          "missing_id 2");
  differs(indicator(categorical_by_hash("wood", {.buckets = 8})), indicator(categorical_by_hash("wood", {.buckets = 9})),
          "hash (buckets 8) before, hash (buckets 9)");
  differs(indicator(crossed({"wood", "rock"}, {.buckets = 8})), indicator(crossed({"wood", "rock"}, {.buckets = 9})),
          "column \"rock_X_wood\": crossed (2 keys: rock, wood; buckets 8)");
  differs(indicator(crossed({wood(), "rock"}, {.buckets = 8})),
          indicator(crossed({wood({"oak", "ash"}), "rock"}, {.buckets = 8})), "number 0 of the words");
  differs(embedding(wood(), {.dimension = 2}), embedding(wood(), {.dimension = 2, .combiner = ops::Combiner::kSum}),
          "combiner mean; of 2 ids");
  differs(embedding(weighted(wood(), "weight"), {.dimension = 2}), embedding(weighted(wood(), "age"), {.dimension = 2}),
          "wood_weighted_by_weight");
}

TEST(ColumnMeaning, SharedTablesShow) {
  const Column rock = categorical_by_vocabulary("rock", {"gneiss", "slate"});
  const Meaning own = deep({embedding(wood(), {.dimension = 2}), embedding(rock, {.dimension = 2})});
  const Meaning shared = deep(shared_embedding({wood(), rock}, {.dimension = 2}));
  EXPECT_THAT(difference(own, shared), HasSubstr("column \"rock_embedding\": embedding"));
  EXPECT_EQ(difference(shared, deep(shared_embedding({rock, wood()}, {.dimension = 2}))), "");
}

TEST(ColumnMeaning, LayersShowWhatTheyPutSideBySide) {
  const Column a = numeric("age"), b = numeric("weight");
  EXPECT_EQ(deep({a, b}), deep({b, a}));
  EXPECT_THAT(difference(deep({a, b}), deep({a})), HasSubstr("feature \"weight\": numeric before, not there now; also "
                                                             "changed: layer \"input_layer\""));
  EXPECT_EQ(linear({wood(), a}), linear({a, wood()}));
  EXPECT_THAT(difference(linear({a}), linear({a}, {.combiner = ops::Combiner::kMean})),
              HasSubstr("layer \"linear\": linear_layer (columns: age 1; combiner sum)"));
}

/// Two lists of words for one feature, and its numbers and ranges at once.
TEST(ColumnMeaning, OneFeatureMayBeInSeveralColumns) {
  const auto built = [](const Words& deep_words, double boundary, bool deep_first) {
    TableGraph inputs;
    const Column age = numeric("age");
    const auto wide = [&] { linear_layer(inputs.features, {wood(), bucketized(age, {boundary})}); };
    if (!deep_first) wide();
    input_layer(inputs.features, {indicator(wood(deep_words)), age});
    if (deep_first) wide();
    return inputs.graph.meaning();
  };
  const Meaning before = built({"oak", "ash"}, 30, true);
  EXPECT_EQ(before.facts().at("features/age").size(), 2u);
  EXPECT_EQ(difference(before, built({"oak", "ash"}, 30, false)), "");
  EXPECT_THAT(difference(before, built({"oak", "elm"}, 30, true)),
              HasSubstr("number 1 of the words was \"ash\" and is \"elm\""));
  EXPECT_THAT(difference(before, built({"oak", "ash"}, 40, true)), HasSubstr("number 0 of the boundaries was \"30\""));
}

}  // namespace
}  // namespace shoal::columns
