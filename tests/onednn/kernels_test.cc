// SPDX-License-Identifier: Apache-2.0
/// What the conformance suite cannot ask of every backend: which oneDNN code runs, that kept weights follow versions, and that
/// results do not depend much on the thread count.
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
      EXPECT_FALSE(kernel.implementation.starts_with("reference"));
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

/// oneDNN may round differently on another number of threads, but not much; and the same number gives the same bits.
TEST_F(Onednn, PrimitivesAgreeOnAnyNumberOfThreads) {
  Cnn cnn;
  constexpr int64_t kBatch = 8;
  Feeds feeds{{"x", random_tensor({kBatch, 28, 28, 1}, 1)},
              {"labels", Tensor::of<int64_t>({kBatch}, {0, 1, 2, 3, 9, 8, 7, 6})}};
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
  const auto results = value_or_raise(
      run_once(*backend_, graph, {z},
               {{"x", image}, {"kernel", random_tensor({16, 16, 3, 3}, 2)}, {"weights", random_tensor({16, 576}, 3)}}));
  for (float value : results[0].as<float>()) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace shoal::backends::testing
