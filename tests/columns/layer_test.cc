// SPDX-License-Identifier: Apache-2.0
/// Lists of columns as the input of a deep part and as a linear part.
#include "shoal/columns/layer.h"

#include <algorithm>

#include "fixture.h"
#include "shoal/nn/optimizers.h"

namespace shoal::columns {
namespace {

data::TensorMap people() {
  return {{"age", Tensor::of<float>({3}, {20, 30, 40})},
          {"work", Tensor::of_strings({3}, {"Private", "", "State"})},
          {"pets", Tensor::of_strings({3, 2}, {"cat", "dog", "dog", "", "cat", "cat"})}};
}
Column pets() { return categorical_by_vocabulary("pets", {"cat", "dog", "emu"}); }
Column work() { return categorical_by_hash("work", {.buckets = 7}); }
std::vector<Column> deep_columns() { return {numeric("age"), embedding(pets(), {.dimension = 2}), indicator(work())}; }

TEST(InputLayer, OrdersColumnsByName) {
  Batch first(people()), second(people());
  std::vector<Column> reversed = deep_columns();
  std::reverse(reversed.begin(), reversed.end());
  const Value a = input_layer(first.features(), deep_columns()), b = input_layer(second.features(), reversed);
  EXPECT_EQ(a.shape(), (DimShape{Dim::symbol("batch"), 1 + 2 + 7}));
  EXPECT_EQ(first.floats(a), second.floats(b));
  EXPECT_EQ(first.graph().fingerprint(), second.graph().fingerprint());
}

TEST(InputLayer, RefusesWhatDoesNotFit) {
  Batch batch(people());
  const auto refused = [&](const std::vector<Column>& columns) {
    return raised([&] { input_layer(batch.features(), columns); });
  };
  EXPECT_THAT(refused({}), HasSubstr("input_layer: no columns were given"));
  EXPECT_THAT(refused({numeric("age"), numeric("age")}), HasSubstr("two columns have the name \"age\""));
  EXPECT_THAT(refused({work()}),
              HasSubstr("column \"work\" is categorical by hash, which has no numbers; wrap it: indicator(...) or "
                        "embedding(..., {.dimension = ...})"));
  EXPECT_THAT(refused({numeric("height")}),
              HasSubstr("column \"height\" needs the feature \"height\"; there are: age, pets, work"));
  const nn::ValueMap lone(batch.features()["age"]);
  EXPECT_THAT(raised([&] { input_layer(lone, {numeric("age")}); }), HasSubstr("columns take features by name"));
}

TEST(LinearLayer, StartsAtZeroAndAddsUp) {
  Batch batch(people());
  const Value y = linear_layer(batch.features(), {numeric("age"), pets(), work()}, {.units = 2});
  EXPECT_EQ(batch.floats(y), std::vector<float>(6));
  batch.runner().variable("linear/bias") = {0.5f, -0.5f};
  batch.runner().variable("linear/age/weights") = {0.1f, 1};
  batch.runner().variable("linear/pets/weights") = {1, 0, 10, 0, 100, 0};
  EXPECT_THAT(batch.floats(y), ElementsAre(2 + 11 + 0.5f, 19.5f, 3 + 10 + 0.5f, 29.5f, 4 + 2 + 0.5f, 39.5f));
}

TEST(LinearLayer, CombinesAsAskedFor) {
  Batch batch({{"pets", Tensor::of_strings({1, 3}, {"dog", "emu", ""})}});
  EXPECT_THAT(batch.linear(pets()), ElementsAre(3));
  EXPECT_THAT(batch.linear(pets(), {.combiner = ops::Combiner::kMean}), ElementsAre(1.5f));
  EXPECT_THAT(raised([&] { linear_layer(batch.features(), {pets()}, {.units = 0}); }), HasSubstr("units is 0"));
}

TEST(LinearLayer, OnlyTouchedRowsLearn) {
  Batch batch(people());
  const Value y = linear_layer(batch.features(), {pets(), work()});
  const nn::TrainOp op = nn::sgd({.learning_rate = 1}).minimize(ops::reduce_sum(y));
  for (const nn::VariableUpdate& update : op.updates) EXPECT_EQ(update.rows.empty(), update.variable == "linear/bias");
  batch.floats(y);
  batch.runner().train(op, batch.feeds());
  EXPECT_THAT(batch.runner().variable("linear/pets/weights"), ElementsAre(-3, -2, 0));
  EXPECT_EQ(std::ranges::count(batch.runner().variable("linear/work/weights"), 0.0f), 5);
}

}  // namespace
}  // namespace shoal::columns
