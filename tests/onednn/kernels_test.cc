// SPDX-License-Identifier: Apache-2.0
/// What the conformance suite cannot ask of every backend: which oneDNN code runs, that pools mix with the reference's,
/// that kept weights follow versions, and that results do not depend on the thread count where that is cheap.
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

class Onednn : public ::testing::Test {
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

  std::unique_ptr<Backend> backend_ = backend_or_die("onednn");
};

/// A graph with the shapes of the MNIST CNN, forward and backward.
struct Cnn {
  Graph graph;
  std::vector<Value> gradients;
  Cnn() {
    Value x = graph.input("x", DType::kFloat32, {Dim::symbol("batch"), 28, 28, 1});
    std::vector<Value> variables;
    auto variable = [&](const char* name, Shape shape) { return variables.emplace_back(graph.variable(name, shape)); };
    x = ops::relu(ops::conv2d(x, variable("k1", {32, 1, 5, 5}), variable("b1", {32}), {.padding = Padding::same()}));
    x = ops::max_pool(x);
    x = ops::relu(ops::conv2d(x, variable("k2", {64, 32, 5, 5}), variable("b2", {64}), {.padding = Padding::same()}));
    x = ops::flatten(ops::max_pool(x));
    x = ops::relu(ops::dense(x, variable("k3", {1024, 3136}), variable("b3", {1024})));
    x = ops::dense(x, variable("k4", {10, 1024}), variable("b4", {10}));
    const Value labels = graph.input("labels", DType::kInt64, {Dim::symbol("batch")});
    gradients =
        shoal::gradients(ops::reduce_mean(ops::softmax_cross_entropy({.labels = labels, .logits = x}).loss), variables);
  }
};

TEST_F(Onednn, RunsNoReferenceCodeForTheMnistCnn) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "oneDNN has fast kernels for all of these on x86-64 only";
#endif
  Cnn cnn;
  for (int64_t batch : {1, 32, 96, 128}) {
    const auto program =
        value_or_raise(backend_->compile(cnn.graph, {.sizes = {{"batch", batch}}, .updates = cnn.gradients}));
    size_t primitives = 0;
    for (const auto& kernel : program->info().kernels) {
      SCOPED_TRACE(kernel.op + " " + kernel.node + ": " + kernel.implementation);
      if (kernel.implementation == "view") continue;
      EXPECT_TRUE(kernel.implementation.starts_with("onednn: "));
      if (!kernel.op.starts_with("conv2d") && !kernel.op.starts_with("dense")) continue;
      ++primitives;
      EXPECT_EQ(kernel.implementation.find("ref"), std::string::npos);
    }
    EXPECT_EQ(primitives, 4u + 4u + 3u);  // Forward, kernel gradients, input gradients of all but the first layer.
  }
}

TEST_F(Onednn, FusesReluOrTakesItOfThePooledImage) {
  Cnn cnn;
  const auto program = value_or_raise(backend_->compile(cnn.graph, {.sizes = {{"batch", 4}}, .updates = cnn.gradients}));
  std::string before;
  for (const auto& kernel : program->info().kernels) {
    if (kernel.op == "relu") {
      EXPECT_EQ(before, "max_pool") << kernel.node;
    }
    before = kernel.op;
  }
}

TEST_F(Onednn, ReportsWhatItIs) {
  const Numerics numerics = backend_->numerics(2);
  EXPECT_EQ(numerics.backend, "onednn");
  EXPECT_EQ(numerics.threads, 2);
  EXPECT_GE(std::stoi(numerics.version), 2);
  EXPECT_FALSE(numerics.isa.empty());
}

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
  const auto backend = backend_or_die("onednn");
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
  const auto backend = backend_or_die("onednn");
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
  const auto actual = backward.run(*backend->kernel_source(), operands), expected = backward.run(reference_source(), operands);
  EXPECT_TRUE(same_bits(actual[0], expected[0]));
}

INSTANTIATE_TEST_SUITE_P(
    Onednn, MaxPool,
    ::testing::Values(PoolCase{{2, 4, 6, 3}, {}}, PoolCase{{3, 28, 28, 32}, {}}, PoolCase{{2, 7, 9, 64}, {}},
                      PoolCase{{1, 6, 8, 70}, {.window = {3, 3}, .strides = {2, 2}, .padding = Padding::same()}},
                      PoolCase{{2, 9, 9, 17}, {.window = {2, 2}, .strides = {1, 1}}},
                      PoolCase{{2, 9, 9, 5}, {.window = {2, 2}, .strides = {3, 3}}},
                      PoolCase{{1, 5, 5, 130}, {.window = {5, 5}}},
                      PoolCase{{2, 5, 6, 16}, {.window = {2, 2}, .strides = {2, 2}, .padding = Padding::same()}}));

class KeptWeights : public Onednn {
 protected:
  static constexpr int64_t kOut = 24, kIn = 16;
  KeptWeights() {
    const Value x = graph_.input("x", DType::kFloat32, {2, 8, 8, kIn});
    y_ = ops::conv2d(x, graph_.variable("kernel", {kOut, kIn, 3, 3}));
    runner_ = value_or_raise(Runner::make(*backend_, graph_, {.fetches = {y_}}));
    image_ = random_tensor({2, 8, 8, kIn}, 1);
  }
  Tensor run(const Tensor& kernel, VersionId version) {
    value_or_raise(runner_->run({{"x", image_}, {"kernel", kernel}}, {}, version));
    return runner_->fetched(0);
  }
  Tensor fresh(const Tensor& kernel) {
    return value_or_raise(run_once(*backend_, graph_, {y_}, {{"x", image_}, {"kernel", kernel}}))[0];
  }
  Graph graph_;
  Value y_;
  std::optional<Runner> runner_;
  Tensor image_;
};

TEST_F(KeptWeights, FollowVersionsAndNotAddresses) {
  Tensor kernel = random_tensor({kOut, kIn, 3, 3}, 10);
  const Tensor first = fresh(kernel);
  EXPECT_TRUE(same_bits(run(kernel, {1, 1}), first));
  fill_uniform(11, 0, kernel.mutable_as<float>(), -1.0f, 1.0f);  // This is another version at the same address.
  EXPECT_TRUE(same_bits(run(kernel, {1, 2}), fresh(kernel)));
  EXPECT_FALSE(same_bits(run(kernel, {1, 2}), first));
  // The clone is the same version at another address.
  EXPECT_TRUE(same_bits(run(kernel.clone(), {1, 2}), fresh(kernel)));
  fill_uniform(12, 0, kernel.mutable_as<float>(), -1.0f, 1.0f);
  EXPECT_TRUE(same_bits(run(kernel, {2, 2}), fresh(kernel)));  // This is another epoch with the same number.
}

TEST_F(KeptWeights, AreNotTrustedWithoutAVersion) {
  Tensor kernel = random_tensor({kOut, kIn, 3, 3}, 10);
  for (uint64_t key : {20, 21, 22}) {
    fill_uniform(key, 0, kernel.mutable_as<float>(), -1.0f, 1.0f);
    EXPECT_TRUE(same_bits(run(kernel, {}), fresh(kernel)));
  }
}

TEST_F(KeptWeights, AreReorderedOncePerVersion) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "whether the primitive wants another layout depends on the processor";
#endif
  EXPECT_GT(runner_->info().kept_bytes, 0u);
  Tensor kernel = random_tensor({kOut, kIn, 3, 3}, 10);
  const Tensor first = run(kernel, {1, 1});
  // Contrary to the contract the contents change under one version: only what was kept can give the first result again.
  fill_uniform(11, 0, kernel.mutable_as<float>(), -1.0f, 1.0f);
  EXPECT_TRUE(same_bits(run(kernel, {1, 1}), first));
}

/// Ops by loops of ours: large enough for a team.
TEST_F(Onednn, OwnLoopsGiveTheSameBitsOnAnyNumberOfThreads) {
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
    for (const auto& kernel : runner.info().kernels) EXPECT_EQ(kernel.implementation, "onednn: loop") << kernel.op;
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

TEST_F(Onednn, DenseLayersOfFewRowsGiveTheSameBitsOnAnyNumberOfThreads) {
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

TEST_F(Onednn, DenseLayersOfSmallBatchesAreExactToTheBitOnAnyNumberOfThreads) {
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
    // Integers, so that every order of the sums gives the same bits.
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

/// dense_grad_input is left out, since its sums are divided over the threads.
TEST_F(Onednn, LoopsOfDenseLayersGiveTheSameBitsOnAnyNumberOfThreads) {
  struct Sizes {
    int64_t rows, out, in;
  };
  // Small batches; panels packed by each thread and by all, in small and large parts, of one block of the depth and
  // several.
  for (const auto [rows, out, in] :
       {Sizes{5, 10, 900}, Sizes{32, 517, 701}, Sizes{64, 130, 4500}, Sizes{300, 1400, 1367}, Sizes{20, 1100, 90}}) {
    Graph graph;
    const Value x = graph.input("x", DType::kFloat32, {rows, in}), dy = graph.input("dy", DType::kFloat32, {rows, out});
    std::vector<Value> fetches{graph.add("dense_grad_kernel", {dy, x})[0]};
    if (rows <= 32) fetches.push_back(ops::dense(x, graph.variable("w", {out, in}), Value()));
    const Feeds feeds{
        {"x", random_tensor({rows, in}, 1)}, {"w", random_tensor({out, in}, 2)}, {"dy", random_tensor({rows, out}, 4)}};
    SCOPED_TRACE(sizes_text(rows, out, in));
    const auto alone = run(graph, fetches, feeds, 1);
    const auto expected = value_or_raise(run_once(*backend_or_die("reference"), graph, fetches, feeds));
    for (size_t i = 0; i < fetches.size(); ++i) {
      const auto a = alone[i].as<float>(), e = expected[i].as<float>();
      const float tolerance = 1e-6f * float(i == 0 ? rows : in);
      for (size_t j = 0; j < a.size(); ++j) ASSERT_NEAR(a[j], e[j], tolerance) << "value " << i << ", element " << j;
    }
    expect_same_bits(graph, fetches, feeds, alone, {2, 3, 16});
  }
}

/// oneDNN may round differently on another number of threads, but not much; and the same number gives the same bits.
TEST_F(Onednn, PrimitivesAgreeOnAnyNumberOfThreads) {
  Cnn cnn;
  constexpr int64_t kBatch = 8;
  Feeds feeds{{"x", random_tensor({kBatch, 28, 28, 1}, 1)}, {"labels", Tensor::of<int64_t>({kBatch}, {0, 1, 2, 3, 9, 8, 7, 6})}};
  for (const Variable& variable : cnn.graph.variables()) {
    Tensor& value = feeds.emplace(variable.name, Tensor(DType::kFloat32, variable.shape)).first->second;
    fill_uniform(fold_in(RandomKey{9}, variable.name), 0, value.mutable_as<float>(), -0.05f, 0.05f);
  }
  auto run = [&](Backend& backend, int threads) {
    Runner runner = value_or_raise(
        Runner::make(backend, cnn.graph, {.sizes = {{"batch", kBatch}}, .updates = cnn.gradients, .threads = threads}));
    if (backend.name() == "onednn") {
      EXPECT_EQ(runner.info().threads, threads);
    }
    value_or_raise(runner.run(feeds));
    std::vector<Tensor> gradients;
    for (size_t i = 0; i < cnn.gradients.size(); ++i) gradients.push_back(runner.update(i).clone());
    return gradients;
  };
  const auto expected = run(*backend_or_die("reference"), 1);
  for (int threads : {1, 2, 3}) {
    const auto actual = run(*backend_, threads), again = run(*backend_, threads);
    for (size_t i = 0; i < actual.size(); ++i) {
      SCOPED_TRACE("gradient " + std::to_string(i) + ", " + std::to_string(threads) + " threads");
      EXPECT_TRUE(same_bits(actual[i], again[i]));
      const auto a = actual[i].as<float>(), e = expected[i].as<float>();
      double largest = 0, difference = 0;
      for (size_t k = 0; k < e.size(); ++k) {
        largest = std::max(largest, std::fabs(double(e[k])));
        difference = std::max(difference, std::fabs(double(a[k]) - double(e[k])));
      }
      EXPECT_GT(largest, 0);
      EXPECT_LE(difference, 1e-5 * largest);
    }
  }
}

TEST_F(Onednn, ASmallStepIsComputedByOneThread) {
  for (const auto& [rows, threads] : {std::pair{2, 1}, {2000, 4}}) {
    Graph graph;
    const Value x = graph.input("x", DType::kFloat32, {rows, 64});
    const Value y = ops::relu(ops::dense(x, graph.variable("w", {32, 64}), Value()));
    Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = {y}, .threads = 4}));
    EXPECT_EQ(runner.info().threads, threads);
    EXPECT_EQ(runner.info().numerics.threads, 4);
  }
}

TEST_F(Onednn, NaNPassesThroughFusedRelu) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {1, 8, 8, 16});
  const Value y = ops::relu(ops::conv2d(x, graph.variable("kernel", {16, 16, 3, 3})));
  const Value z = ops::relu(ops::dense(ops::flatten(y), graph.variable("weights", {16, 36 * 16})));
  Tensor image = random_tensor({1, 8, 8, 16}, 1);
  image.mutable_as<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  const auto results = value_or_raise(run_once(
      *backend_, graph, {z}, {{"x", image}, {"kernel", random_tensor({16, 16, 3, 3}, 2)}, {"weights", random_tensor({16, 576}, 3)}}));
  for (float value : results[0].as<float>()) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace shoal::backends::testing
