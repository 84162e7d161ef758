// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A graph whose features are given as tensors, run on the reference backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../nn/graph_runner.h"
#include "shoal/columns/layer.h"
#include "shoal/data/element.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/text_ids.h"

namespace shoal::columns {

using nn::raised;
using testing::ElementsAre;
using testing::HasSubstr;

/// Features of one batch, by name: the inputs of a graph and what they are fed with.
class Batch {
 public:
  explicit Batch(data::TensorMap features) : tensors_(std::move(features)) {
    for (const auto& [name, tensor] : tensors_) {
      std::vector<Dim> dims{Dim::symbol("batch")};
      for (int axis = 1; axis < tensor.shape().rank(); ++axis) dims.emplace_back(tensor.shape()[axis]);
      features_.set(name, graph_.input(name, tensor.dtype(), DimShape(std::move(dims))));
      rows_ = tensor.shape()[0];
    }
  }

  Graph& graph() { return graph_; }
  const nn::ValueMap& features() const { return features_; }
  nn::GraphRunner& runner() { return runner_; }

  /// The tensors, and the ids of those that are text.
  nn::Feeds feeds() const {
    nn::Feeds feeds;
    for (const auto& [name, tensor] : tensors_) feeds.emplace(name, tensor);
    for (const Node& node : graph_.nodes()) {
      const auto encoded = value_or_raise(encoded_input(node));
      if (encoded) feeds.emplace(node.name, value_or_raise(encoded->encoding.ids_of(feeds.at(encoded->of))));
    }
    return feeds;
  }
  std::vector<float> floats(Value value) {
    runner_.set_sizes({{"batch", rows_}});
    return runner_.floats(value, feeds());
  }
  std::string error_of(Value value) {
    runner_.set_sizes({{"batch", rows_}});
    const auto result = runner_.run({value}, feeds());
    return result ? "" : result.error().message();
  }
  /// What a deep part gets of one column.
  std::vector<float> deep(const Column& column) { return floats(input_layer(features_, {column}, {.name = next("deep")})); }
  /// What a linear part makes of one column whose weights are 0, 1, 2, ...
  std::vector<float> linear(const Column& column, const LinearLayerOptions& options = {}) {
    LinearLayerOptions named = options;
    named.name = next("linear");
    const Value y = linear_layer(features_, {column}, named);
    floats(y);  // This makes the variables.
    std::vector<float>& weights = runner_.variable(named.name + "/" + column.name() + "/weights");
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = float(i);
    return floats(y);
  }

 private:
  std::string next(const char* name) { return name + std::to_string(++layers_); }

  data::TensorMap tensors_;
  Graph graph_{7};
  nn::ValueMap features_;
  nn::GraphRunner runner_{graph_};
  int64_t rows_ = 0;
  int layers_ = 0;
};

}  // namespace shoal::columns
