// SPDX-License-Identifier: Apache-2.0
/// The reference kernels, the oracle of all others, against definitions written out here: index by index, with no code
/// shared, and values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "run_graph.h"
#include "shoal/backends/kernel.h"
#include "shoal/backends/reference.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::Pointwise;

class Reference : public ::testing::Test {
 protected:
  Value feed(const std::string& name, Tensor value) {
    const Value result = graph_.input(name, value.dtype(), value.shape());
    feeds_.emplace(name, std::move(value));
    return result;
  }
  Value random(const std::string& name, Shape shape) {
    Tensor tensor(DType::kFloat32, shape);
    fill_uniform(fold_in(RandomKey{11}, name), 0, tensor.mutable_as<float>(), -1, 1);
    return feed(name, std::move(tensor));
  }
  Tensor run(Value value, StepKey key = {}) {
    return value_or_raise(run_once(*backend_, graph_, {value}, feeds_, {}, key))[0];
  }
  std::vector<float> floats(Value value) { return list<float>(run(value)); }
  float at(const std::string& name, std::initializer_list<int64_t> index) const {
    const Tensor& tensor = feeds_.at(name);
    int64_t flat = 0;
    int axis = 0;
    for (int64_t i : index) flat = flat * tensor.shape()[axis++] + i;
    return tensor.as<float>()[size_t(flat)];
  }

  std::unique_ptr<Backend> backend_ = backend_or_die("reference");
  Graph graph_{RandomKey{21}};
  Feeds feeds_;
};

TEST_F(Reference, DenseByHand) {
  const Value x = feed("x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Value kernel = feed("k", Tensor::of<float>({2, 3}, {1, 0, -1, 2, 1, 0}));
  const Value bias = feed("b", Tensor::of<float>({2}, {10, -20}));
  EXPECT_THAT(floats(ops::dense(x, kernel, bias)), ElementsAre(8, -16, 8, -7));
  EXPECT_THAT(floats(ops::dense(x, kernel)), ElementsAre(-2, 4, -2, 13));
  EXPECT_THAT(floats(ops::relu(ops::dense(x, kernel, bias))), ElementsAre(8, 0, 8, 0));
}

TEST_F(Reference, Conv2dByDefinition) {
  constexpr int64_t N = 2, H = 6, W = 5, I = 3, O = 4, KH = 3, KW = 2, SH = 2, SW = 1, TOP = 1, LEFT = 0;
  const Value x = random("x", {N, H, W, I});
  const Value y = ops::conv2d(x, random("k", {O, I, KH, KW}), random("b", {O}),
                              {.strides = {SH, SW}, .padding = Padding::explicit_sizes(TOP, 2, LEFT, 1)});
  const Tensor actual = run(y);
  ASSERT_EQ(actual.shape(), (Shape{N, 4, 5, O}));
  size_t flat = 0;
  for (int64_t n = 0; n < N; ++n)
    for (int64_t oh = 0; oh < 4; ++oh)
      for (int64_t ow = 0; ow < 5; ++ow)
        for (int64_t o = 0; o < O; ++o) {
          double sum = at("b", {o});
          for (int64_t i = 0; i < I; ++i)
            for (int64_t kh = 0; kh < KH; ++kh)
              for (int64_t kw = 0; kw < KW; ++kw) {
                const int64_t h = oh * SH + kh - TOP, w = ow * SW + kw - LEFT;
                if (h >= 0 && h < H && w >= 0 && w < W) sum += double(at("x", {n, h, w, i})) * at("k", {o, i, kh, kw});
              }
          ASSERT_NEAR(actual.as<float>()[flat++], sum, 1e-6) << n << oh << ow << o;
        }
}

TEST_F(Reference, PoolsByHand) {
  const Value x = feed("x", Tensor::of<float>({1, 3, 4, 1}, {1, 5, 2, 0,  //
                                                             3, 4, 9, 9,  //
                                                             -1, -2, -3, -4}));
  EXPECT_THAT(floats(ops::max_pool(x)), ElementsAre(5, 9));
  EXPECT_THAT(floats(ops::avg_pool(x)), ElementsAre(3.25f, 5));
  const ops::PoolOptions same{.padding = Padding::same()};
  EXPECT_THAT(floats(ops::max_pool(x, same)), ElementsAre(5, 9, -1, -3));  // The zeros of a padding are no maximum.
  EXPECT_THAT(floats(ops::avg_pool(x, same)), ElementsAre(3.25f, 5, -1.5f, -3.5f));
  const Value y = ops::max_pool(x);
  EXPECT_THAT(list<uint8_t>(run(Value(&graph_, y.node(), 1))), ElementsAre(1, 2));  // The first of the two nines wins.
  EXPECT_THAT(floats(gradients(ops::reduce_sum(y), {x})[0]), ElementsAre(0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0));
}

TEST_F(Reference, SoftmaxFamilyByHand) {
  const Value x = feed("x", Tensor::of<float>({2, 3}, {0, std::log(2.0f), std::log(5.0f), 1000, 1000, -1000}));
  const Value labels = feed("labels", Tensor::of<int64_t>({2}, {2, 0}));
  EXPECT_THAT(floats(ops::softmax(x)), Pointwise(FloatNear(1e-7f), {0.125f, 0.25f, 0.625f, 0.5f, 0.5f, 0.0f}));
  EXPECT_THAT(floats(ops::log_softmax(x)), Pointwise(FloatNear(1e-4f), {-2.0794415f, -1.3862944f, -0.4700036f, -0.6931472f,
                                                                        -0.6931472f, -2000.6931472f}));
  const auto result = ops::softmax_cross_entropy({.labels = labels, .logits = x});
  EXPECT_THAT(floats(result.loss), Pointwise(FloatNear(1e-6f), {0.4700036f, 0.6931472f}));
  EXPECT_THAT(floats(result.softmax), Pointwise(FloatNear(1e-7f), {0.125f, 0.25f, 0.625f, 0.5f, 0.5f, 0.0f}));
}

TEST_F(Reference, ReductionsByHand) {
  const Value x = feed("x", Tensor::of<float>({2, 2}, {1, 2, 3, -10}));
  EXPECT_THAT(floats(ops::reduce_sum(x)), ElementsAre(-4));
  EXPECT_THAT(floats(ops::reduce_mean(x)), ElementsAre(-1));
  // Many small numbers beside a large one: a float32 sum in order would lose them all.
  std::vector<float> values(100001, 1.0f / 1024);
  values[0] = 65536;
  const Value many = feed("many", Tensor::of<float>({100001}, std::span<const float>(values)));
  EXPECT_THAT(floats(ops::reduce_sum(many)), ElementsAre(FloatEq(65536 + 100000.0f / 1024)));
}

TEST_F(Reference, IntegersByHand) {
  const Value x = feed("x", Tensor::of<float>({2, 3}, {1, 3, 3, -1, -2, std::nanf("")}));
  EXPECT_THAT(list<int64_t>(run(ops::argmax(x))), ElementsAre(1, 2));
  const Value a = feed("a", Tensor::of<int64_t>({3}, {1, int64_t(1) << 40, -1}));
  const Value b = feed("b", Tensor::of<int64_t>({3}, {1, 0, -1}));
  EXPECT_THAT(floats(ops::equal(a, b)), ElementsAre(1, 0, 1));
  EXPECT_THAT(list<int32_t>(run(ops::cast(a, DType::kInt32))), ElementsAre(1, std::numeric_limits<int32_t>::max(), -1));
  const Value f = feed("f", Tensor::of<float>({6}, {-1.7f, 2.9f, 300, -5, std::nanf(""), INFINITY}));
  EXPECT_THAT(list<uint8_t>(run(ops::cast(f, DType::kUInt8))), ElementsAre(0, 2, 255, 0, 0, 255));
  EXPECT_THAT(list<int64_t>(run(ops::cast(f, DType::kInt64))),
              ElementsAre(-1, 2, 300, -5, 0, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(list<bool>(run(ops::cast(b, DType::kBool))), ElementsAre(true, false, true));
}

TEST_F(Reference, DropoutIsPhiloxByElement) {
  Tensor ones(DType::kFloat32, {1001});
  for (float& one : ones.mutable_as<float>()) one = 1;
  const Value y = ops::dropout(feed("x", std::move(ones)), 0.25, "drop");
  const auto actual = list<float>(run(y, {.trainer = 5, .ordinal = 9}));
  const RandomKey node_key = fold_in(RandomKey{0}, "drop");
  const RandomKey sequence = fold_in(fold_in(fold_in(RandomKey{21}, node_key), uint64_t(5)), uint64_t(9));
  int64_t kept = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool keep = philox(sequence, i / 4)[i % 4] >= uint32_t(1) << 30;
    ASSERT_EQ(actual[i], keep ? float(1 / 0.75) : 0.0f) << i;
    kept += keep;
  }
  EXPECT_NEAR(double(kept), 750.75, 60);  // Four standard deviations.
}

TEST_F(Reference, TakesEveryOpOfTheCatalogueAndNoOther) {
  const Node node{.op = "no_such_op"};
  EXPECT_EQ(value_or_raise(reference_source().make_kernel(
                {.node = node, .inputs = {}, .outputs = {}, .input_is_variable = {}, .threads = 1, .graph_seed = 0})),
            nullptr);
  const Node view{.op = "reshape"};
  const auto kernel = value_or_raise(reference_source().make_kernel(
      {.node = view, .inputs = {}, .outputs = {}, .input_is_variable = {}, .threads = 1, .graph_seed = 0}));
  ASSERT_NE(kernel, nullptr);
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  Tensor y(DType::kFloat32, {2, 1});
  const TensorView inputs[] = {x.view()};
  const MutableTensorView outputs[] = {y.mutable_view()};
  value_or_raise(kernel->run({.inputs = inputs, .outputs = outputs, .scratch = nullptr, .weights = {}, .key = {}}));
  EXPECT_THAT(list<float>(y), ElementsAre(1, 2));
}

}  // namespace
}  // namespace shoal::backends::testing
