// SPDX-License-Identifier: Apache-2.0
/// Where the processor multiplies bfloat16, oneDNN's own kernels do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../backends/run_graph.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// The MNIST CNN's products: two convolutions, two dense layers, one product of matrices, and the gradients of all.
TEST(OnednnBfloat16, ProductsAreNotEmulated) {
  const auto backend = backend_or_die("onednn");
  if (const auto taken = backend->check_compute_dtype(DType::kBFloat16); !taken) GTEST_SKIP() << taken.error().message();
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {32, 28, 28, 1});
  std::vector<Value> variables{graph.variable("k1", {32, 1, 5, 5}), graph.variable("k2", {64, 32, 5, 5}),
                               graph.variable("d1", {128, 3136}), graph.variable("d2", {10, 128})};
  const ops::Conv2dOptions same{.padding = Padding::same()};
  Value h = ops::max_pool(ops::relu(ops::conv2d(x, variables[0], {}, same)));
  h = ops::max_pool(ops::relu(ops::conv2d(h, variables[1], {}, same)));
  h = ops::dense(ops::relu(ops::dense(ops::flatten(h), variables[2])), variables[3]);
  h = ops::matmul(h, h, {.transpose_a = true});
  const auto updates = gradients(ops::reduce_sum(ops::square(h)), variables);
  const auto program = value_or_raise(backend->compile(graph, {.updates = updates, .compute_dtype = DType::kBFloat16}));
  int products = 0;
  for (const auto& kernel : program->info().kernels) {
    if (!OpCatalogue::built_in().find(kernel.op)->product) continue;
    ++products;
    EXPECT_THAT(kernel.implementation, StartsWith("onednn: ")) << kernel.op;
    EXPECT_THAT(kernel.implementation, Not(HasSubstr("rounded"))) << kernel.op;
    EXPECT_THAT(kernel.implementation, Not(HasSubstr("ref"))) << kernel.op;
  }
  EXPECT_EQ(products, 5 + 2 + 4 + 3);  // Forward, matmul's gradients, those of kernels, those of inputs.
}

}  // namespace
}  // namespace shoal::backends::testing
