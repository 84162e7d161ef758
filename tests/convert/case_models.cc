// SPDX-License-Identifier: Apache-2.0
#include "case_models.h"

#include <algorithm>

#include "shoal/convert/onnx.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"

namespace shoal::convert {

using backends::testing::CaseBuilder;
using backends::testing::OpCase;

std::set<std::string> ops_of(const TrainedModel& model) {
  std::vector<Value> values;
  for (const NamedValue& output : model.outputs) values.push_back(output.value);
  std::set<std::string> ops;
  for (NodeId id : needed_nodes(*model.graph, values)) ops.insert(model.graph->node(id).op);
  return ops;
}

namespace {

bool is_empty(const backends::testing::Feeds& feeds) {
  return std::ranges::any_of(feeds, [](const auto& feed) { return feed.second.elements() == 0; });
}

}  // namespace

CaseModel::CaseModel(const OpCase& op_case) : builder(op_case.name(), CaseBuilder::kAllBits) {
  const std::vector<Value> values = op_case.build(builder);
  Graph& graph = builder.graph();
  model.graph = &graph;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (source_of(node.op) == Source::kInput) model.inputs.push_back({node.name, Value(&graph, NodeId(i), 0)});
  }
  for (const Value& value : values) model.outputs.push_back({"out" + std::to_string(model.outputs.size()), value});
  model.weights = [this](const Variable& variable) {
    const TensorView view = builder.feeds().at(variable.name).view();
    return std::span<const std::byte>(view.data, view.bytes());
  };
}

std::vector<Tensor> CaseModel::expected() {
  std::vector<Value> values;
  for (const NamedValue& output : model.outputs) values.push_back(output.value);
  auto reference = backends::testing::backend_or_die("reference");
  return value_or_raise(backends::testing::run_once(*reference, builder.graph(), values, builder.feeds()));
}

Written write_cases(EmptyInputs empty) {
  Written written;
  for (const OpCase& op_case : backends::testing::op_cases()) {
    auto model = std::make_unique<CaseModel>(op_case);
    if (!onnx_obstacles(model->model).empty()) continue;
    if (empty == EmptyInputs::kAreLeftOut && is_empty(model->builder.feeds())) continue;
    if (op_case.name() == "top_k_ties_and_nan" || op_case.name() == "argmax_nan") continue;
    OnnxFile file = value_or_raise(to_onnx(model->model));
    Tensors inputs;
    for (const auto& [name, tensor] : model->builder.feeds()) inputs.emplace(name, tensor);
    for (const TransformedInput& transformed : file.transformed) {  // Its ids are what Shoal makes of them.
      auto reference = backends::testing::backend_or_die("reference");
      const Value value = model->builder.graph().find(transformed.node);
      inputs.emplace(transformed.name, value_or_raise(backends::testing::run_once(*reference, model->builder.graph(),
                                                                                  {value}, model->builder.feeds()))[0]);
    }
    written.jobs.push_back({op_case.name(), std::move(file.bytes), std::move(inputs)});
    written.ops.merge(ops_of(model->model));
    written.models.push_back(std::move(model));
  }
  return written;
}

}  // namespace shoal::convert
