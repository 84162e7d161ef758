// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model whose weights are of use only with the words that it was trained with: which wood floats?
#include <string>
#include <vector>

#include "shoal/columns/layer.h"
#include "shoal/data/dataset.h"
#include "shoal/estimator/estimator.h"
#include "shoal/nn/head.h"

namespace shoal::testing {

using Words = std::vector<std::string>;

/// The choices of the program: each is a field of the table, or a head.
struct WoodModel {
  Words words = {"elm", "fir", "oak", "yew"};
  Words classes = {"no", "yes"};
  double learning_rate = 0.5;
  double mean_age = 10;         ///< The age that a missing one is replaced by.
  bool columns_turned = false;  ///< Whether columns are given in another order.

  EstimatorSpec operator()(const Features& features, const Labels& labels, Mode mode) const {
    std::vector<columns::Column> columns{columns::numeric("age", {.default_value = mean_age}),
                                         columns::categorical_by_vocabulary("wood", words)};
    if (columns_turned) std::swap(columns[0], columns[1]);
    nn::HeadInput input{.mode = mode, .labels = labels, .logits = columns::linear_layer(features, columns)};
    if (mode == Mode::kTrain) input.optimizer = nn::sgd({.learning_rate = learning_rate});
    return nn::binary_head({.label_vocabulary = classes})->build(input);
  }
};

/// Examples of these woods; "oak" and "yew" have the label "yes".
inline data::Dataset woods(const Words& rows) {
  Words label;
  for (const std::string& wood : rows) label.push_back(wood == "oak" || wood == "yew" ? "yes" : "no");
  const Shape shape{int64_t(rows.size())};
  return data::Dataset::from_tensor_slices(
      {{"wood", Tensor::of_strings(shape, rows)}, {"age", Tensor::zeros(DType::kFloat32, shape)}},
      Tensor::of_strings(shape, label));
}
inline data::Dataset all_woods() { return woods({"oak", "elm", "yew", "fir"}).batch(4); }

}  // namespace shoal::testing
