// SPDX-License-Identifier: Apache-2.0
#include "train/session_events.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include "shoal/base/format.h"
#include "task/task_network.h"

namespace shoal {
namespace {

/// Writes a list in the notation of flags: "64,32".
template <class T>
std::string listed_text(const std::vector<T>& list) {
  std::string text;
  for (const T& element : list) {
    if (!text.empty()) text += ',';
    if constexpr (std::is_same_v<T, std::string>) {
      text += element;
    } else if constexpr (std::is_same_v<T, double>) {
      text += formatted("%.15g", element);
    } else {
      text += std::to_string(element);
    }
  }
  return text;
}

monitor::HyperParameterValue parameter_value(const Params::Item& item) {
  const auto convert = [](const auto& value) -> monitor::HyperParameterValue {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      return double(value);
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      return listed_text(value);
    }
  };
  return std::visit(convert, item);
}

/// The number of a type in TensorFlow's types.proto.
int32_t data_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return 1;
    case DType::kInt32: return 3;
    case DType::kUInt8: return 4;
    case DType::kString: return 7;
    case DType::kInt64: return 9;
    case DType::kBool: return 10;
    case DType::kBFloat16: return 14;
    case DType::kFloat16: return 19;
  }
  return 0;
}

monitor::GraphOutput output_of(const ValueType& type) {
  monitor::GraphOutput output{.data_type = data_type_of(type.dtype)};
  for (const Dim& dim : type.shape.dims()) output.shape.push_back(dim.is_symbol() ? -1 : dim.size());
  return output;
}

/// Returns the node's name with a dot in place of each colon. Names of some inputs have colons, but readers of event files
/// take what follows a colon for the number of an output.
std::string name_of(const Node& node) {
  std::string name = node.name;
  std::replace(name.begin(), name.end(), ':', '.');
  return name;
}

std::vector<monitor::GraphNode> nodes_of(const Graph& graph) {
  std::vector<monitor::GraphNode> nodes;
  for (const Node& node : graph.nodes()) {
    monitor::GraphNode written{.name = name_of(node), .op = node.op};
    for (const Value& input : node.inputs) {
      const std::string output = input.output() == 0 ? "" : ":" + std::to_string(input.output());
      written.inputs.push_back(name_of(graph.node(input.node())) + output);
    }
    for (const ValueType& type : node.outputs) written.outputs.push_back(output_of(type));
    nodes.push_back(std::move(written));
  }
  return nodes;
}

/// Returns the flags and params of a run. If a flag and a param have the same name, apart from dashes and underscores
/// (--learning-rate, learning_rate), the program has passed the flag on: keeps only the flag, which searches can set.
std::vector<monitor::HyperParameter> hyper_parameters(const Params& flags, const Params& params) {
  std::vector<monitor::HyperParameter> all;
  std::set<std::string> names;
  for (const Params* some : {&flags, &params}) {
    for (const auto& [name, item] : *some) {
      std::string plain = name;
      std::replace(plain.begin(), plain.end(), '-', '_');
      if (names.insert(std::move(plain)).second) all.push_back({name, parameter_value(item)});
    }
  }
  return all;
}

}  // namespace

Result<void> write_session_start(TrainScope& scope, const Graph& graph, monitor::EventWriter& events) {
  const std::shared_ptr<const Params> flags = host_of(scope.config()).flags;
  const monitor::SessionStart start{
      .parameters = hyper_parameters(flags ? *flags : Params(), scope.request.estimator.params()),
      .model_dir = scope.model_dir()};
  SHOAL_TRY_VOID(events.add_session_start(start));
  if (!scope.config().save_model_description()) return {};
  SHOAL_TRY(const bool written, events.add_graph(nodes_of(graph)));
  if (!written) scope.env.log().info("the model's graph is too large for an event file, so TensorBoard does not show it");
  return {};
}

}  // namespace shoal
