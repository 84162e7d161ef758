// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trained model as the converters take it: the graph of its predictions, and its weights. Each converter writes it in a form
/// that is used without Shoal.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/export_signature.h"
#include "shoal/nn/text_classes.h"

namespace shoal::convert {

/// A feature or a prediction: its name for users ("" for a lone tensor), and the value of the graph.
struct NamedValue {
  std::string name;
  Value value;
};

/// The graph outlives the model. Nothing here is copied: who converts a model reads it.
struct TrainedModel {
  const Graph* graph = nullptr;
  std::vector<NamedValue> inputs;   ///< The features that predictions are computed from, in the order of the export.
  std::vector<NamedValue> outputs;  ///< The predictions, by key.
  /// Predictions of text that are made of `outputs`: names of classes.
  std::vector<nn::TextPrediction> texts;
  /// The calls, the default one first.
  std::vector<nn::ExportSignature> signatures;
  /// The bytes of a variable's value: dense, row-major, of the variable's type.
  std::function<std::span<const std::byte>(const Variable& variable)> weights;
  int64_t global_step = 0;  ///< The step that the weights are of.
};

/// The nodes that these values are computed from, each before those that use it; nodes whose output is used for its shape alone
/// are among them. What a node with `is_source` is computed from is not.
std::vector<NodeId> needed_nodes(const Graph& graph, const std::vector<Value>& values,
                                 const std::function<bool(const Node& node)>& is_source = {});

}  // namespace shoal::convert
