// SPDX-License-Identifier: Apache-2.0
/// What nodes cost by their shapes, against sums done by hand.
#include "shoal/graph/cost.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TensorView floats(Shape shape) { return {DType::kFloat32, std::move(shape), nullptr}; }
TensorView ids(Shape shape) { return {DType::kInt64, std::move(shape), nullptr}; }

NodeCost cost(const char* op, std::vector<TensorView> inputs, std::vector<TensorView> outputs, Attributes attributes = {}) {
  return cost_of(*OpCatalogue::built_in().find(op), attributes, inputs, outputs);
}

TEST(Cost, OfElementWiseOpsIsOneOperationPerElement) {
  const NodeCost add = cost("add", {floats({2, 3}), floats({3})}, {floats({2, 3})});
  EXPECT_EQ(add.flops, 6);
  EXPECT_EQ(add.bytes, 4 * (6 + 3 + 6));
  EXPECT_EQ(cost("reduce_sum", {floats({10, 10})}, {floats({})}).flops, 100) << "the operand is the largest";
}

TEST(Cost, OfViewsAndShapeOnlyOperandsIsNothing) {
  EXPECT_EQ(cost("flatten", {floats({2, 3})}, {floats({6})}).bytes, 0);
  const NodeCost fill = cost("fill_like", {floats({}), floats({5})}, {floats({5})});
  EXPECT_EQ(fill.bytes, 4 + 20) << "of what it is like, only the shape is used";
}

TEST(Cost, OfProductsIsTwoOperationsPerMultiplyAdd) {
  const TensorView x = floats({8, 5}), kernel = floats({3, 5}), y = floats({8, 3});
  EXPECT_EQ(cost("dense", {x, kernel, floats({3})}, {y}).flops, 2 * 8 * 5 * 3);
  EXPECT_EQ(cost("dense_grad_input", {y, kernel}, {x}).flops, 2 * 8 * 5 * 3);
  EXPECT_EQ(cost("dense_grad_kernel", {y, x}, {kernel}).flops, 2 * 8 * 5 * 3);
  const Attributes plain{{"transpose_a", false}, {"transpose_b", false}},
      turned{{"transpose_a", true}, {"transpose_b", false}};
  EXPECT_EQ(cost("matmul", {floats({7, 2, 5}), floats({7, 5, 3})}, {floats({7, 2, 3})}, plain).flops, 2 * 7 * 2 * 5 * 3);
  EXPECT_EQ(cost("matmul_sum", {floats({7, 5, 2}), floats({7, 5, 3})}, {floats({2, 3})}, turned).flops, 2 * 7 * 5 * 2 * 3);
}

TEST(Cost, EveryProductOfTheCatalogueTellsItsMultiplyAdds) {
  const OpCatalogue& catalogue = OpCatalogue::built_in();
  for (const std::string& name : catalogue.names()) {
    const OpDef& op = *catalogue.find(name);
    EXPECT_TRUE(!op.product || op.multiply_adds) << name;
  }
}

TEST(Cost, OfConvolutionsKnowsGroups) {
  // 4 images of 6 x 6 pixels, 8 channels in 2 groups, 3 x 3 kernels: each result looks at 4 channels.
  const TensorView x = floats({4, 6, 6, 8}), kernel = floats({10, 4, 3, 3}), y = floats({4, 6, 6, 10});
  const double flops = 2.0 * 4 * 6 * 6 * 10 * 4 * 3 * 3;
  EXPECT_EQ(cost("conv2d", {x, kernel}, {y}).flops, flops);
  EXPECT_EQ(cost("conv2d_grad_input", {y, kernel, x}, {x}).flops, flops);
  EXPECT_EQ(cost("conv2d_grad_kernel", {y, x, kernel}, {kernel}).flops, flops);
  EXPECT_EQ(cost("conv2d_transpose", {y, kernel}, {x}).flops, flops);
}

TEST(Cost, OfRecurrencesAndAttention) {
  // 2 sequences of 5 positions, 3 units.
  EXPECT_EQ(cost("lstm", {floats({2, 5, 12}), floats({12, 3})}, {floats({2, 5, 3})}).flops, 2 * 2 * 5 * 12 * 3);
  EXPECT_EQ(cost("gru", {floats({2, 5, 9}), floats({9, 3})}, {floats({2, 5, 3})}).flops, 2 * 2 * 5 * 9 * 3);
  // 2 sequences, 5 positions, 6 features: scores and weighed values.
  const double both = 2.0 * 2 * (2 * 5 * 5 * 6);
  const TensorView x = floats({2, 5, 6});
  EXPECT_EQ(cost("attention", {x, x, x}, {x}, {{"causal", false}}).flops, both);
  EXPECT_EQ(cost("self_attention", {floats({2, 5, 18})}, {x}, {{"causal", false}}).flops, both);
  EXPECT_EQ(cost("self_attention", {floats({2, 5, 18})}, {x}, {{"causal", true}}).flops, both * 6 / 10);
}

TEST(Cost, OfALookupIsWhatComesOut) {
  const NodeCost gather = cost("gather", {floats({100000, 16}), ids({32})}, {floats({32, 16})}, {{"axis", int64_t(0)}});
  EXPECT_EQ(gather.bytes, 2 * 4 * 32 * 16 + 8 * 32);
  EXPECT_EQ(gather.flops, 32 * 16);
}

TEST(Cost, OfEmptyOperandsIsNothing) {
  EXPECT_EQ(cost("dense", {floats({0, 5}), floats({3, 5})}, {floats({0, 3})}).flops, 0);
  EXPECT_EQ(cost("dense_grad_kernel", {floats({8, 0}), floats({8, 5})}, {floats({0, 5})}).flops, 0);
}

}  // namespace
}  // namespace shoal
