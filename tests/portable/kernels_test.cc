// SPDX-License-Identifier: Apache-2.0
/// Kernels of the portable backend: the same bits on any number of threads, and what the reference computes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "../backends/run_graph.h"
#include "shoal/backends/kernel.h"
#include "shoal/backends/reference.h"
#include "shoal/base/random.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

class Portable : public ::testing::Test {
 protected:
  std::vector<Tensor> run(const Graph& graph, const std::vector<Value>& fetches, const Feeds& feeds, int threads) {
    Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = fetches, .threads = threads}));
    value_or_raise(runner.run(feeds));
    std::vector<Tensor> results;
    for (size_t i = 0; i < fetches.size(); ++i) results.push_back(runner.fetched(i));
    return results;
  }
  void expect_same_bits(const Graph& graph, const std::vector<Value>& fetches, const Feeds& feeds,
                        const std::vector<Tensor>& expected, std::initializer_list<int> thread_counts) {
    for (int threads : thread_counts) {
      const auto results = run(graph, fetches, feeds, threads);
      for (size_t i = 0; i < fetches.size(); ++i) {
        EXPECT_TRUE(same_bits(results[i], expected[i])) << "value " << i << ", threads " << threads;
      }
    }
  }

  std::unique_ptr<Backend> backend_ = backend_or_die("portable");
};

/// One op on one source, outside of any program.
struct SingleOp {
  Graph graph;
  NodeId node;
  std::vector<TensorType> inputs, outputs;

  std::vector<Tensor> run(KernelSource& source, std::vector<Tensor>& operands) const {
    const auto is_variable = std::make_unique<bool[]>(inputs.size());
    const KernelRequest request{graph.node(node), inputs, outputs, {is_variable.get(), inputs.size()}, 1, 0};
    const auto kernel = value_or_raise(source.make_kernel(request));
    std::vector<TensorView> views;
    for (const Tensor& operand : operands) views.push_back(operand.view());
    std::vector<Tensor> results;
    std::vector<MutableTensorView> result_views;
    for (const TensorType& type : outputs) results.emplace_back(type.dtype, type.shape);
    for (Tensor& result : results) result_views.push_back(result.mutable_view());
    EXPECT_TRUE(kernel);
    if (kernel) value_or_raise(kernel->run({views, result_views, nullptr, {}, {}}));
    return results;
  }
};

struct PoolCase {
  Shape image;
  ops::PoolOptions options;
};
class MaxPool : public ::testing::TestWithParam<PoolCase> {};

/// Few different values, so that most windows have several maxima, and some NaN.
Tensor image_with_ties(const Shape& shape) {
  Tensor image(DType::kFloat32, shape);
  RandomStream stream(3);
  for (float& value : image.mutable_as<float>()) {
    const uint64_t drawn = stream.below(20);
    value = drawn == 0 ? std::numeric_limits<float>::quiet_NaN() : float(drawn % 4) - 2.0f;
  }
  return image;
}

TEST_P(MaxPool, ValuesAndPositionsEqualTheReferenceBitForBit) {
  const auto backend = backend_or_die("portable");
  SingleOp pool;
  const Value y = ops::max_pool(pool.graph.input("x", DType::kFloat32, GetParam().image), GetParam().options);
  const Shape out = value_or_raise(y.shape().resolve({}));
  pool.node = y.node();
  pool.inputs = {{DType::kFloat32, GetParam().image}};
  pool.outputs = {{DType::kFloat32, out}, {DType::kUInt8, out}};
  std::vector<Tensor> image{image_with_ties(GetParam().image)};
  const auto actual = pool.run(*backend->kernel_source(), image), expected = pool.run(reference_source(), image);
  EXPECT_TRUE(same_bits(actual[1], expected[1])) << "positions";
  for (int64_t i = 0; i < out.elements(); ++i) {
    const float a = actual[0].as<float>()[size_t(i)], e = expected[0].as<float>()[size_t(i)];
    ASSERT_TRUE(a == e || (std::isnan(a) && std::isnan(e))) << i << ": " << a << ", expected " << e;
  }
}

TEST_P(MaxPool, TakesTheReferencesPositionsBackwards) {
  const auto backend = backend_or_die("portable");
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, GetParam().image);
  const Value y = ops::max_pool(x, GetParam().options);
  const Shape out = value_or_raise(y.shape().resolve({}));
  SingleOp forward, backward;
  const Value again = ops::max_pool(forward.graph.input("x", DType::kFloat32, GetParam().image), GetParam().options);
  forward.node = again.node();
  forward.inputs = {{DType::kFloat32, GetParam().image}};
  forward.outputs = {{DType::kFloat32, out}, {DType::kUInt8, out}};
  const Value bx = backward.graph.input("x", DType::kFloat32, GetParam().image);
  const Value dy = backward.graph.input("dy", DType::kFloat32, out);
  const Value index = backward.graph.input("index", DType::kUInt8, out);
  backward.node = backward.graph.add("max_pool_grad", {dy, index, bx}, graph.node(y.node()).attributes)[0].node();
  backward.inputs = {{DType::kFloat32, out}, {DType::kUInt8, out}, {DType::kFloat32, GetParam().image}};
  backward.outputs = {{DType::kFloat32, GetParam().image}};

  std::vector<Tensor> image{random_tensor(GetParam().image, 4)};
  std::vector<Tensor> operands{random_tensor(out, 5), forward.run(reference_source(), image)[1], image[0]};
  const auto actual = backward.run(*backend->kernel_source(), operands),
             expected = backward.run(reference_source(), operands);
  EXPECT_TRUE(same_bits(actual[0], expected[0]));
}

INSTANTIATE_TEST_SUITE_P(
    Portable, MaxPool,
    ::testing::Values(PoolCase{{2, 4, 6, 3}, {}}, PoolCase{{3, 28, 28, 32}, {}}, PoolCase{{2, 7, 9, 64}, {}},
                      PoolCase{{1, 6, 8, 70}, {.window = {3, 3}, .strides = {2, 2}, .padding = Padding::same()}},
                      PoolCase{{2, 9, 9, 17}, {.window = {2, 2}, .strides = {1, 1}}},
                      PoolCase{{2, 9, 9, 5}, {.window = {2, 2}, .strides = {3, 3}}},
                      PoolCase{{1, 5, 5, 130}, {.window = {5, 5}}},
                      PoolCase{{2, 5, 6, 16}, {.window = {2, 2}, .strides = {2, 2}, .padding = Padding::same()}}));

/// Ops by loops of ours: large enough for a team.
TEST_F(Portable, OwnLoopsGiveTheSameBitsOnAnyNumberOfThreads) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {16, 28, 28, 32});
  const Value logits = graph.input("logits", DType::kFloat32, {4000, 40});
  const Value channels = graph.input("channels", DType::kFloat32, {32});
  const Value rows = graph.input("rows", DType::kFloat32, {4000, 1});
  const Value columns = graph.input("columns", DType::kFloat32, {40});
  const std::vector<Value> fetches{ops::relu(x),
                                   ops::max_pool(x),
                                   ops::avg_pool(x),
                                   ops::dropout(x, 0.25),
                                   ops::square(x),
                                   ops::scale(x, 0.1),
                                   ops::reduce_sum(x),
                                   ops::softmax(logits),
                                   ops::log_softmax(logits),
                                   ops::argmax(logits),
                                   graph.add("bias_grad", {x})[0],
                                   x + channels,
                                   logits / rows,
                                   ops::maximum(rows, columns),
                                   ops::less(logits, columns),
                                   ops::select(rows, logits, columns),
                                   ops::reduce_sum(x, {.axes = {1, 2}}),
                                   ops::reduce_mean(x, {.axes = {0, 2}}),
                                   ops::reduce_max(x, {.axes = {3}}),
                                   ops::reduce_sum(logits, {.axes = {0}}),
                                   ops::sum_like(x, channels),
                                   ops::broadcast_like(rows, logits)};
  const Feeds feeds{{"x", random_tensor({16, 28, 28, 32}, 1)},
                    {"logits", random_tensor({4000, 40}, 2)},
                    {"channels", random_tensor({32}, 3)},
                    {"rows", random_tensor({4000, 1}, 4)},
                    {"columns", random_tensor({40}, 5)}};
  auto run = [&](int threads) {
    Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = fetches, .threads = threads}));
    for (const auto& kernel : runner.info().kernels) EXPECT_EQ(kernel.implementation, "portable: loop") << kernel.op;
    EXPECT_EQ(runner.info().threads, threads);
    value_or_raise(runner.run(feeds));
    std::vector<Tensor> results;
    for (size_t i = 0; i < fetches.size(); ++i) results.push_back(runner.fetched(i));
    return results;
  };
  const auto one = run(1);
  for (int threads : {2, 3}) {
    const auto several = run(threads);
    for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(several[i], one[i])) << "value " << i << ", " << threads;
  }
}

TEST_F(Portable, DenseLayersOfFewRowsGiveTheSameBitsOnAnyNumberOfThreads) {
  constexpr int64_t kIn = 701, kOut = 1030;  // Sizes that are worth a team, and no whole number of vectors.
  for (int64_t rows = 1; rows <= 4; ++rows) {
    Graph graph;
    const Value x = graph.input("x", DType::kFloat32, {rows, kIn});
    const Value dy = graph.input("dy", DType::kFloat32, {rows, kOut});
    const Value w = graph.variable("w", {kOut, kIn});
    const std::vector<Value> fetches{ops::dense(x, w, Value()), graph.add("dense_grad_input", {dy, w})[0],
                                     graph.add("dense_grad_kernel", {dy, x})[0]};
    const Feeds feeds{
        {"x", random_tensor({rows, kIn}, 1)}, {"dy", random_tensor({rows, kOut}, 2)}, {"w", random_tensor({kOut, kIn}, 3)}};
    SCOPED_TRACE("rows " + std::to_string(rows));
    expect_same_bits(graph, fetches, feeds, run(graph, fetches, feeds, 1), {2, 3, 5});
  }
}

std::string sizes_text(int64_t rows, int64_t out, int64_t in) {
  return "[" + std::to_string(rows) + ", " + std::to_string(in) + "] to " + std::to_string(out);
}

TEST_F(Portable, DenseLayersOfSmallBatchesAreExactToTheBitOnAnyNumberOfThreads) {
  struct Sizes {
    int64_t rows, out, in;
  };
  // Sizes in and out of whole vectors and tiles, one block of the depth and several, worth a team and not,
  // more threads than rows of w.
  for (const auto [rows, out, in] :
       {Sizes{5, 3, 8}, Sizes{6, 1, 9}, Sizes{32, 517, 701}, Sizes{31, 258, 1025}, Sizes{32, 2, 17000}}) {
    Graph graph;
    const Value x = graph.input("x", DType::kFloat32, {rows, in}), w = graph.variable("w", {out, in});
    const Value bias = graph.variable("bias", {out}), dy = graph.input("dy", DType::kFloat32, {rows, out});
    const std::vector<Value> fetches{ops::dense(x, w, bias), ops::relu(ops::dense(x, w, bias)), ops::dense(x, w, Value()),
                                     graph.add("dense_grad_input", {dy, w})[0], graph.add("dense_grad_kernel", {dy, x})[0]};
    // The operands are whole numbers, so that every order of the sums gives the same bits.
    const auto integers = [](const Shape& shape, uint64_t seed) {
      Tensor tensor = random_tensor(shape, seed);
      for (float& value : tensor.mutable_as<float>()) value = std::round(value * 8.0f);
      return tensor;
    };
    Tensor x_data = integers({rows, in}, 1);
    const Tensor w_data = integers({out, in}, 2), bias_data = integers({out}, 3);
    // The infinity counts once, however often it is read.
    x_data.mutable_as<float>()[0] = std::numeric_limits<float>::infinity();
    const Feeds feeds{{"x", x_data}, {"w", w_data}, {"bias", bias_data}, {"dy", integers({rows, out}, 4)}};
    SCOPED_TRACE(sizes_text(rows, out, in));
    const auto expected = value_or_raise(run_once(*backend_or_die("reference"), graph, fetches, feeds));
    expect_same_bits(graph, fetches, feeds, expected, {1, 2, 3, 5});
  }
}

TEST_F(Portable, LoopsOfDenseLayersGiveTheSameBitsOnAnyNumberOfThreads) {
  struct Sizes {
    int64_t rows, out, in;
  };
  // Small batches; panels packed by each thread and by all, in small and large parts, of one block of the depth and
  // several; many rows, of which gradients are summed in parts of many columns, of few, and of fewer than are divided.
  for (const auto [rows, out, in] :
       {Sizes{5, 10, 900}, Sizes{32, 517, 701}, Sizes{64, 130, 4500}, Sizes{300, 1400, 1367}, Sizes{20, 1100, 90},
        Sizes{33, 1, 40}, Sizes{5000, 1, 333}, Sizes{700, 37, 300}, Sizes{513, 67, 1300}, Sizes{8200, 61, 20}}) {
    Graph graph;
    const Value x = graph.input("x", DType::kFloat32, {rows, in}), dy = graph.input("dy", DType::kFloat32, {rows, out});
    const Value w = graph.variable("w", {out, in});
    std::vector<Value> fetches{graph.add("dense_grad_kernel", {dy, x})[0], graph.add("dense_grad_input", {dy, w})[0]};
    if (rows <= 32 || out == 1) fetches.push_back(ops::dense(x, w, Value()));
    const Feeds feeds{
        {"x", random_tensor({rows, in}, 1)}, {"w", random_tensor({out, in}, 2)}, {"dy", random_tensor({rows, out}, 4)}};
    SCOPED_TRACE(sizes_text(rows, out, in));
    const auto alone = run(graph, fetches, feeds, 1);
    const auto expected = value_or_raise(run_once(*backend_or_die("reference"), graph, fetches, feeds));
    for (size_t i = 0; i < fetches.size(); ++i) {
      const auto a = alone[i].as<float>(), e = expected[i].as<float>();
      const float tolerance = 1e-6f * float(i == 0 ? rows : i == 1 ? out : in);
      for (size_t j = 0; j < a.size(); ++j) ASSERT_NEAR(a[j], e[j], tolerance) << "value " << i << ", element " << j;
    }
    expect_same_bits(graph, fetches, feeds, alone, {2, 3, 16});
  }
}

TEST_F(Portable, SmallBatchesSumGradientsOfInputsInTheWrittenOrder) {
  constexpr int64_t kRows = 6, kOut = 301, kIn = 37, kBlocks = 4;  // docs/arithmetic.md, dense_grad_input
  Graph graph;
  const Value dy = graph.input("dy", DType::kFloat32, {kRows, kOut}), w = graph.variable("w", {kOut, kIn});
  const std::vector<Value> fetches{graph.add("dense_grad_input", {dy, w})[0]};
  const Tensor dy_data = random_tensor({kRows, kOut}, 1), w_data = random_tensor({kOut, kIn}, 2);
  const auto made = run(graph, fetches, {{"dy", dy_data}, {"w", w_data}}, 2)[0].as<float>();
  const auto dys = dy_data.as<float>(), ws = w_data.as<float>();
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kIn; ++column) {
      float sum = 0.0f;
      for (int64_t block = 0; block < kBlocks; ++block) {
        float chain = 0.0f;
        for (int64_t o = kOut * block / kBlocks; o < kOut * (block + 1) / kBlocks; ++o) {
          chain = std::fma(dys[size_t(row * kOut + o)], ws[size_t(o * kIn + column)], chain);
        }
        sum = block == 0 ? chain : sum + chain;
      }
      ASSERT_EQ(made[size_t(row * kIn + column)], sum) << "row " << row << ", column " << column;
    }
  }
}

TEST_F(Portable, AProductOfTwoMatricesHasTheBitsOfTheDenseLayersProduct) {
  struct Sizes {
    int64_t rows, out, in;
  };
  for (const auto [rows, out, in] :
       {Sizes{1, 70, 130}, Sizes{4, 33, 40}, Sizes{20, 65, 90}, Sizes{9, 90, 70}, Sizes{300, 40, 500}}) {
    Graph graph;
    const Value x = graph.input("x", DType::kFloat32, {rows, in}), dy = graph.input("dy", DType::kFloat32, {rows, out});
    const Value w = graph.input("w", DType::kFloat32, {out, in});
    const std::vector<Value> products{ops::matmul(x, w, {.transpose_b = true}), ops::matmul(dy, w),
                                      ops::matmul(dy, x, {.transpose_a = true})};
    const std::vector<Value> dense{ops::dense(x, w, Value()), graph.add("dense_grad_input", {dy, w})[0],
                                   graph.add("dense_grad_kernel", {dy, x})[0]};
    const Feeds feeds{
        {"x", random_tensor({rows, in}, 1)}, {"w", random_tensor({out, in}, 2)}, {"dy", random_tensor({rows, out}, 4)}};
    SCOPED_TRACE(sizes_text(rows, out, in));
    expect_same_bits(graph, products, feeds, run(graph, dense, feeds, 1), {1, 2, 3});
  }
}

}  // namespace
}  // namespace shoal::backends::testing
