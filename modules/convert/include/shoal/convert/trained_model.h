// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trained model as the converters take it: the graph of its predictions, and its weights. Each converter writes the
/// model in a form that other programs can use without Shoal.
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

/// A feature or a prediction: its name for users ("" for a lone tensor), and its value in the graph.
struct NamedValue {
  std::string name;
  Value value;
};

/// The graph has to outlive this struct, which copies neither graph nor weights: converters read both in place.
struct TrainedModel {
  const Graph* graph = nullptr;
  std::vector<NamedValue> inputs;   ///< The features that predictions are computed from, in the order of the export.
  std::vector<NamedValue> outputs;  ///< The predictions, by key.
  /// Predictions of text, such as names of classes, that are made from `outputs`.
  std::vector<nn::TextPrediction> texts;
  /// The signatures (ways to call the model), the default one first.
  std::vector<nn::ExportSignature> signatures;
  /// Returns the bytes of a variable's value: dense, row-major, of the variable's type.
  std::function<std::span<const std::byte>(const Variable& variable)> weights;
  int64_t global_step = 0;  ///< The global step after which the weights were saved.
};

/// Returns the nodes from which `values` are computed, including nodes of which only the shape is used. A node comes before
/// the nodes that use its outputs. If is_source(node) is true, the node is included, but the nodes that compute its inputs
/// only if another node needs them.
std::vector<NodeId> needed_nodes(const Graph& graph, const std::vector<Value>& values,
                                 const std::function<bool(const Node& node)>& is_source = {});

}  // namespace shoal::convert
