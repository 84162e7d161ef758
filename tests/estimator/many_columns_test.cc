// SPDX-License-Identifier: Apache-2.0
// Models for tables with thousands of columns.
#include "fixture.h"
#include "shoal/columns/column.h"
#include "shoal/estimator/canned.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::testing {
namespace {

using namespace columns;

constexpr int kNumbers = 1000, kWords = 1000;
constexpr int64_t kRows = 8;

std::string name_of(const char* kind, int number) { return kind + std::to_string(number); }

data::TensorMap features() {
  data::TensorMap map;
  for (int i = 0; i < kNumbers; ++i) {
    std::vector<float> values;
    for (int64_t row = 0; row < kRows; ++row) values.push_back(float((row + i) % 3));
    map.set(name_of("number", i), Tensor::of<float>({kRows}, values));
  }
  for (int i = 0; i < kWords; ++i) {
    std::vector<std::string> values;
    for (int64_t row = 0; row < kRows; ++row) values.emplace_back((row + i) % 3 == 0 ? "elm" : "oak");
    map.set(name_of("word", i), Tensor::of_strings({kRows}, values));
  }
  return map;
}

Estimator model(const RunConfig& config) {
  std::vector<Column> wide, deep;
  for (int i = 0; i < kNumbers; ++i) {
    deep.push_back(numeric(name_of("number", i)));
    wide.push_back(deep.back());
  }
  for (int i = 0; i < kWords; ++i) {
    wide.push_back(categorical_by_vocabulary(name_of("word", i), {"oak", "elm"}));
    deep.push_back(embedding(wide.back(), {.dimension = 2}));
  }
  return wide_and_deep_classifier({.linear = {.columns = wide}, .dnn = {.columns = deep, .hidden_units = {4}}}, {}, config);
}

TEST(ManyColumns, AreTrainedSavedRestoredExportedAndPredictedFrom) {
  const TemporaryFolder folder;
  const RunConfig config({.model_dir = folder / "m", .random_seed = 3});
  const data::TensorMap all = features();
  const auto rows = data::Dataset::from_tensor_slices(all, Tensor::of<float>({kRows}, {0, 1, 0, 1, 0, 1, 0, 1}));
  model(config).train(rows.repeat().batch(kRows), {.steps = 1});
  Estimator again = model(config);
  again.train(rows.repeat().batch(kRows), {.steps = 1});
  const auto predicted =
      again.predict(data::Dataset::from_tensor_slices(all).batch(kRows), {.yield_single_examples = false})->next();
  ASSERT_TRUE(predicted);
  const auto exported =
      load_exported_model(again.export_model(folder / "e", data::Dataset::from_tensor_slices(all).batch(kRows)));
  const auto expected = (*predicted)["logistic"].as<float>(), found = exported->predict(all)["logistic"].as<float>();
  EXPECT_TRUE(std::ranges::equal(expected, found));
}

}  // namespace
}  // namespace shoal::testing
