// SPDX-License-Identifier: Apache-2.0
// Every op of the catalogue in onnxruntime: the cases are those of the backends' conformance suite.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "onnx_runtime.h"
#include "op_cases.h"
#include "shoal/base/finite.h"
#include "shoal/convert/onnx.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"

namespace shoal::convert {
namespace {

using backends::testing::BuiltCase;
using backends::testing::CaseBuilder;
using backends::testing::Feeds;
using backends::testing::OpCase;

/// A case as a model: its inputs are the features, its outputs the predictions.
struct CaseModel {
  explicit CaseModel(const OpCase& op_case) : builder(op_case.name(), CaseBuilder::kAllBits) {
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

  std::vector<Tensor> expected() {
    std::vector<Value> values;
    for (const NamedValue& output : model.outputs) values.push_back(output.value);
    auto reference = backends::testing::backend_or_die("reference");
    return value_or_raise(backends::testing::run_once(*reference, builder.graph(), values, builder.feeds()));
  }

  CaseBuilder builder;
  TrainedModel model;
};

std::set<std::string> ops_of(const TrainedModel& model) {
  std::vector<Value> values;
  for (const NamedValue& output : model.outputs) values.push_back(output.value);
  std::set<std::string> ops;
  for (NodeId id : needed_nodes(*model.graph, values)) ops.insert(model.graph->node(id).op);
  return ops;
}

/// Ops that a file does not have, and why not.
bool is_gradient(const std::string& op) {
  return op.ends_with("_grad") || op.find("_grad_") != std::string::npos || op == "matmul_sum";
}

/// onnxruntime ends with an arithmetic exception for some ops without elements.
bool is_empty(const Feeds& feeds) {
  return std::ranges::any_of(feeds, [](const auto& feed) { return feed.second.elements() == 0; });
}

struct Written {
  std::vector<OnnxJob> jobs;
  std::vector<std::unique_ptr<CaseModel>> models;
  std::set<std::string> ops;
};

Written write_cases() {
  Written written;
  for (const OpCase& op_case : backends::testing::op_cases()) {
    auto model = std::make_unique<CaseModel>(op_case);
    if (!onnx_obstacles(model->model).empty() || is_empty(model->builder.feeds())) continue;
    if (op_case.name() == "top_k_ties_and_nan" || op_case.name() == "argmax_nan")
      continue;  // To ONNX, NaN has no place in an order.
    auto file = to_onnx(model->model);
    if (!file) {
      ADD_FAILURE() << op_case.name() << ": " << file.error().message();
      continue;
    }
    Tensors inputs;
    for (const auto& [name, tensor] : model->builder.feeds()) inputs.emplace(name, tensor);
    for (const TransformedInput& transformed : file->transformed) {  // Its ids are what Shoal makes of them.
      auto reference = backends::testing::backend_or_die("reference");
      const Value value = model->builder.graph().find(transformed.node);
      inputs.emplace(transformed.name, value_or_raise(backends::testing::run_once(*reference, model->builder.graph(),
                                                                                  {value}, model->builder.feeds()))[0]);
    }
    written.jobs.push_back({op_case.name(), std::move(file->bytes), std::move(inputs)});
    written.ops.merge(ops_of(model->model));
    written.models.push_back(std::move(model));
  }
  return written;
}

TEST(OnnxOps, EveryOpGivesWhatShoalPredicts) {
  if (const std::string missing = onnx_runtime_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Written written = write_cases();
  const std::vector<OnnxResult> results = run_onnx(written.jobs);
  double worst = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(written.jobs[i].name);
    ASSERT_EQ(results[i].error.find("no results"), std::string::npos) << results[i].error;
    EXPECT_EQ(results[i].error, "");
    const std::vector<Tensor> expected = written.models[i]->expected();
    for (size_t k = 0; k < expected.size() && results[i].error.empty(); ++k) {
      const double found = difference(results[i].outputs.at("out" + std::to_string(k)), expected[k]);
      EXPECT_LE(found, 1e-5) << "output " << k;
      if (is_finite(found)) worst = std::max(worst, found);
    }
  }
  std::cout << results.size() << " files; the largest difference is " << worst << " of the largest magnitude\n";
}

TEST(OnnxOps, TheCheckerTakesEveryFile) {
  if (const std::string missing = onnx_checker_missing(); !missing.empty()) GTEST_SKIP() << missing;
  EXPECT_EQ(onnx_findings(write_cases().jobs), "");
}

/// A new op has a row, or is named here.
TEST(OnnxOps, EveryOpOfTheCatalogueIsWrittenOrSaysWhyNot) {
  const std::set<std::string> written = write_cases().ops;
  const std::set<std::string> refused{"dropout"};
  for (const std::string& op : OpCatalogue::built_in().names()) {
    if (is_gradient(op)) continue;
    EXPECT_NE(written.contains(op), refused.contains(op)) << op;
  }
}

/// The names in back quotes in the first column of the page's table.
std::set<std::string> ops_of_the_page() {
  std::ifstream page(SHOAL_ONNX_OPS_PAGE);
  std::set<std::string> ops;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string column = line.substr(1, line.find('|', 1) - 1);
    for (size_t at = 0; (at = column.find('`', at)) != std::string::npos;) {
      const size_t end = column.find('`', at + 1);
      ops.insert(column.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return ops;
}

TEST(OnnxOps, ThePageHasARowForEachOp) {
  std::set<std::string> ops;
  for (const std::string& op : OpCatalogue::built_in().names()) {
    if (!is_gradient(op)) ops.insert(op);
  }
  const std::set<std::string> page = ops_of_the_page();
  for (const std::string& op : ops) EXPECT_TRUE(page.contains(op)) << op << " has no row";
  for (const std::string& op : page) EXPECT_TRUE(ops.contains(op)) << op << " is no op";
}

TEST(OnnxOps, ObstaclesNameNodeAndOp) {
  for (const OpCase& op_case : backends::testing::op_cases()) {
    if (op_case.op != "dropout") continue;
    const CaseModel model(op_case);
    const std::vector<std::string> obstacles = onnx_obstacles(model.model);
    ASSERT_EQ(obstacles.size(), 1u);
    EXPECT_EQ(obstacles[0], "node dropout: op dropout is random");
    EXPECT_NE(to_onnx(model.model).error().message().find(obstacles[0]), std::string::npos);
    return;
  }
  FAIL() << "there is no case of dropout";
}

}  // namespace
}  // namespace shoal::convert
