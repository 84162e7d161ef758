// SPDX-License-Identifier: Apache-2.0
#include "model/read_inputs.h"

#include <algorithm>
#include <set>
#include <string>

#include "model/model.h"
#include "shoal/graph/text_ids.h"

namespace shoal {
namespace {

/// The names of the graph's inputs that the predictions depend on.
Result<std::set<std::string>> names_read(const Graph& graph, const EstimatorSpec& spec) {
  std::set<std::string> names;
  std::vector<bool> seen(graph.nodes().size());
  std::vector<NodeId> open;
  const auto reach = [&](const Value& value) {
    if (seen[size_t(value.node())]) return;
    seen[size_t(value.node())] = true;
    open.push_back(value.node());
  };
  for (const auto& [name, value] : spec.predictions) reach(value);
  while (!open.empty()) {
    const Node& node = graph.node(open.back());
    open.pop_back();
    names.insert(node.name);
    SHOAL_TRY(const auto encoded, encoded_input(node));
    if (encoded) names.insert(encoded->of);
    for (const Value& input : node.inputs) reach(input);
  }
  return names;
}

/// The axes of a tensor whose sizes are only known from a batch.
std::set<std::string> axes_of(const ExportedTensor& tensor) {
  if (!tensor.axes.empty()) return {tensor.axes.begin(), tensor.axes.end()};
  const bool varies = std::any_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t size) { return size < 0; });
  return varies ? std::set<std::string>{kBatchAxis} : std::set<std::string>();
}

}  // namespace

Result<ReadInputs> read_inputs(const Graph& graph, const EstimatorSpec& spec, const std::vector<ExportedTensor>& inputs) {
  SHOAL_TRY(const std::set<std::string> names, names_read(graph, spec));
  const auto is_read = [&names](const ExportedTensor& input) { return names.contains(input_name("features", input.name)); };
  std::set<std::string> axes;
  for (const ExportedTensor& input : inputs) {
    if (is_read(input)) axes.merge(axes_of(input));
  }
  if (axes.empty()) return ReadInputs{inputs, {}};
  ReadInputs result;
  for (const ExportedTensor& input : inputs) {
    bool tells_size = false;
    for (const std::string& axis : axes_of(input)) tells_size |= axes.insert(axis).second;
    if (is_read(input) || tells_size) {
      result.read.push_back(input);
    } else {
      result.unread.push_back(input.name);
    }
  }
  return result;
}

data::TensorMap ReadInputs::of(const data::TensorMap& features) const {
  data::TensorMap kept;
  const std::set<std::string_view> left_out(unread.begin(), unread.end());
  for (const auto& [name, tensor] : features) {
    if (!left_out.contains(name)) kept.set(name, tensor);
  }
  return kept;
}

}  // namespace shoal
