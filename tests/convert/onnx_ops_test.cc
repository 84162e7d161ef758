// SPDX-License-Identifier: Apache-2.0
// Every op of the catalogue in onnxruntime: the cases are those of the backends' conformance suite.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "case_models.h"
#include "shoal/base/finite.h"
#include "shoal/convert/onnx.h"
#include "shoal/graph/op.h"

namespace shoal::convert {
namespace {

using backends::testing::OpCase;

/// Whether an op belongs to gradients, which ONNX files do not have.
bool is_gradient(const std::string& op) {
  return op.ends_with("_grad") || op.find("_grad_") != std::string::npos || op == "matmul_sum";
}

TEST(OnnxOps, EveryOpGivesWhatShoalPredicts) {
  if (const std::string missing = onnx_runtime_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Written written = write_cases(EmptyInputs::kAreLeftOut);
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
  EXPECT_EQ(onnx_findings(write_cases(EmptyInputs::kAreLeftOut).jobs), "");
}

/// A new op has a row, or is named here.
TEST(OnnxOps, EveryOpOfTheCatalogueIsWrittenOrSaysWhyNot) {
  const std::set<std::string> written = write_cases(EmptyInputs::kAreLeftOut).ops;
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
