// SPDX-License-Identifier: Apache-2.0
/// The conformance suite of backends: runs over every plug-in of the build, so a new one gets it for free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <set>

#include "op_cases.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using ::testing::HasSubstr;

constexpr StepKey kKey{.trainer = 3, .ordinal = 41};

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : built_in_backends()) names.push_back(entry.name);
  return names;
}

/// The values of a case that are compared: its outputs and its gradients.
std::vector<Value> compared(const BuiltCase& built) {
  std::vector<Value> values = built.outputs;
  for (const Value& gradient : built.gradients) values.push_back(gradient);
  return values;
}

/// Floats agree within a few roundings of sums of their size; all else is equal.
void expect_close(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  if (actual.dtype() != DType::kFloat32) {
    EXPECT_TRUE(same_bits(actual, expected)) << what;
    return;
  }
  const auto a = actual.as<float>();
  const auto e = expected.as<float>();
  double largest = 0;
  for (float value : e) largest = std::max(largest, std::fabs(double(value)));
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], e[i], 2e-6 * largest + 1e-5 * std::fabs(double(e[i])) + 1e-7) << what << ", element " << i;
  }
}

struct BackendCase {
  std::string backend;
  const OpCase* op_case;
};

std::vector<BackendCase> all_pairs() {
  std::vector<BackendCase> pairs;
  for (const std::string& backend : backend_names()) {
    for (const OpCase& op_case : op_cases()) pairs.push_back({backend, &op_case});
  }
  return pairs;
}

class BackendOps : public ::testing::TestWithParam<BackendCase> {
 protected:
  std::unique_ptr<Backend> backend_ = backend_or_die(GetParam().backend);
  std::unique_ptr<Backend> reference_ = backend_or_die("reference");
  BuiltCase built_{*GetParam().op_case};
};

TEST_P(BackendOps, ValuesAgreeWithTheReference) {
  const auto values = compared(built_);
  Runner runner = value_or_raise(Runner::make(*backend_, built_.builder.graph(), {.fetches = values}));
  ASSERT_EQ(runner.info().numerics.backend, GetParam().backend);
  for (const auto& kernel : runner.info().kernels) {
    const bool known = kernel.implementation.starts_with(GetParam().backend) ||
                       (kernel.implementation.starts_with("portable") && GetParam().backend != "reference") ||
                       kernel.implementation.starts_with("reference") || kernel.implementation == "view";
    EXPECT_TRUE(known) << kernel.op << " runs as " << kernel.implementation;
  }
  value_or_raise(runner.run(built_.builder.feeds(), kKey));
  const auto expected =
      value_or_raise(run_once(*reference_, built_.builder.graph(), values, built_.builder.feeds(), {}, kKey));
  for (size_t i = 0; i < values.size(); ++i) {
    const Value value = values[i];
    expect_close(runner.fetched(i), expected[i], value.graph().node(value.node()).name);
  }
}

/// d(loss)/d(x[i]) from four runs of the reference: Richardson's central difference, error O(h^4). The loss is summed
/// here in double, and data are multiples of 1/64, so x +- h is exact and only the rounding of the outputs remains.
double finite_difference(Runner& runner, const BuiltCase& built, Feeds feeds, const std::string& name, size_t element) {
  constexpr double kStep = 1.0 / 32;
  const float at = feeds.at(name).as<float>()[element];
  Tensor moved = feeds.at(name).clone();
  feeds.erase(name);
  auto loss = [&](double step) {
    moved.mutable_as<float>()[element] = float(double(at) + step);
    Feeds with = feeds;
    with.emplace(name, moved.clone());
    value_or_raise(runner.run(with, kKey));
    double sum = 0;
    for (size_t i = 0; i < built.weighed.size(); ++i) {
      const Tensor output = runner.fetched(i);
      for (size_t k = 0; k < built.weights[i].size(); ++k) sum += built.weights[i][k] * double(output.as<float>()[k]);
    }
    return sum;
  };
  const double near = loss(kStep) - loss(-kStep);
  const double far = loss(2 * kStep) - loss(-2 * kStep);
  return (8 * near - far) / (12 * kStep);
}

TEST_P(BackendOps, GradientsAgreeWithFiniteDifferences) {
  const OpCase& op_case = *GetParam().op_case;
  if (op_case.differentiable.empty()) return;  // No op gets by this way: EveryGradientHasACase sees to it.
  constexpr size_t kElementsMax = 64;          // The most that are checked per operand, spread evenly.
  const auto actual =
      value_or_raise(run_once(*backend_, built_.builder.graph(), built_.gradients, built_.builder.feeds(), {}, kKey));
  Runner runner = value_or_raise(Runner::make(*reference_, built_.builder.graph(), {.fetches = built_.weighed}));
  for (size_t i = 0; i < actual.size(); ++i) {
    const auto values = actual[i].as<float>();
    const size_t stride = values.size() / kElementsMax + 1;
    for (size_t k = 0; k < values.size(); k += stride) {
      const double expected = finite_difference(runner, built_, built_.builder.feeds(), op_case.differentiable[i], k);
      ASSERT_NEAR(values[k], expected, 1e-4 + 1e-3 * std::fabs(expected))
          << "gradient for " << op_case.differentiable[i] << ", element " << k;
    }
  }
}

TEST_P(BackendOps, EqualRunsGiveEqualBits) {
  const auto values = compared(built_);
  const auto& feeds = built_.builder.feeds();
  Runner runner = value_or_raise(Runner::make(*backend_, built_.builder.graph(), {.fetches = values}));
  value_or_raise(runner.run(feeds, kKey));
  const auto first = value_or_raise(run_once(*backend_, built_.builder.graph(), values, feeds, {}, kKey));
  for (int again = 0; again < 2; ++again) {
    for (size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(same_bits(runner.fetched(i), first[i]));
    value_or_raise(runner.run(feeds, kKey));
  }
}

/// What is fetched beside a value changes how it is computed (fusing, in place), but no bit of it.
TEST_P(BackendOps, FetchesChangeNoBits) {
  Graph& graph = built_.builder.graph();
  const auto wanted = compared(built_);
  std::vector<Value> everything = wanted;
  for (NodeId id = 0; id < NodeId(graph.nodes().size()); ++id) {
    for (int output = 0; output < int(graph.node(id).outputs.size()); ++output) everything.emplace_back(&graph, id, output);
  }
  const auto alone = value_or_raise(run_once(*backend_, graph, wanted, built_.builder.feeds(), {}, kKey));
  const auto together = value_or_raise(run_once(*backend_, graph, everything, built_.builder.feeds(), {}, kKey));
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(same_bits(alone[i], together[i])) << "value " << i;
}

INSTANTIATE_TEST_SUITE_P(Conformance, BackendOps, ::testing::ValuesIn(all_pairs()), [](const auto& test_info) {
  return test_info.param.backend + "_" + test_info.param.op_case->name();
});

class BackendConformance : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Backend> backend_ = backend_or_die(GetParam());
};

TEST_P(BackendConformance, ThePlugInUnderTestRuns) {
  EXPECT_EQ(backend_->name(), GetParam());
  std::set<std::string> native;
  std::set<std::string> fallen_back;
  for (const OpCase& op_case : op_cases()) {
    BuiltCase built(op_case);
    const Runner runner = value_or_raise(Runner::make(*backend_, built.builder.graph(), {.fetches = compared(built)}));
    for (const auto& kernel : runner.info().kernels) {
      if (kernel.implementation == "view") continue;
      (kernel.implementation.starts_with(GetParam()) ? native : fallen_back).insert(kernel.op);
    }
  }
  EXPECT_FALSE(native.empty()) << "it computes nothing by itself";
  const bool is_ours = GetParam() == "onednn" || GetParam() == "reference";  // A user's own may be for one op.
  for (const char* op :
       {"dense", "dense_grad_input", "dense_grad_kernel", "conv2d", "conv2d_grad_input", "conv2d_grad_kernel"}) {
    EXPECT_TRUE(!is_ours || native.contains(op)) << op << " is what a backend of Shoal is for";
  }
  std::string never_native;
  for (const std::string& op : fallen_back) {
    if (!native.contains(op)) never_native += " " + op;
  }
  std::cout << GetParam() << ": " << native.size()
            << " ops native; always fallen back:" << (never_native.empty() ? " none" : never_native) << "\n";
}

TEST_P(BackendConformance, RefusesALabelOutOfRange) {
  Graph graph;
  const Value logits = graph.input("logits", DType::kFloat32, {4, 10});
  const Value labels = graph.input("labels", DType::kInt64, {4});
  const Value loss = ops::softmax_cross_entropy({.labels = labels, .logits = logits}, "loss").loss;
  Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = {loss}}));
  for (int64_t wrong : {int64_t{10}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    const auto result = runner.run(
        {{"logits", Tensor::zeros(DType::kFloat32, {4, 10})}, {"labels", Tensor::of<int64_t>({4}, {0, 9, 1, wrong})}});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_EQ(result.error().message(),
              "softmax_cross_entropy \"loss\": label " + std::to_string(wrong) + " in row 3 is outside [0, 10)");
  }
  EXPECT_TRUE(runner.run(
      {{"logits", Tensor::zeros(DType::kFloat32, {4, 10})}, {"labels", Tensor::of<int64_t>({4}, {0, 9, 1, 2})}}));
}

TEST_P(BackendConformance, DropoutMasksEqualTheReferenceBitForBit) {
  Graph graph(RandomKey{99});
  const Value x = graph.input("x", DType::kFloat32, {5, 201});
  const Value y = ops::dropout(x, 0.3);
  Tensor ones(DType::kFloat32, {5, 201});
  for (float& value : ones.mutable_as<float>()) value = 1.0f;
  const auto reference = backend_or_die("reference");
  std::set<std::vector<float>> different;
  for (const StepKey key : {StepKey{0, 0}, StepKey{0, 1}, StepKey{1, 0}, StepKey{7, 123456789}}) {
    const auto actual = value_or_raise(run_once(*backend_, graph, {y}, {{"x", ones}}, {}, key))[0];
    const auto expected = value_or_raise(run_once(*reference, graph, {y}, {{"x", ones}}, {}, key))[0];
    EXPECT_TRUE(same_bits(actual, expected));
    different.insert(list<float>(actual));
  }
  EXPECT_EQ(different.size(), 4u);
}

/// A backend may keep what it made of weights (reordered copies), but only for equal versions.
TEST_P(BackendConformance, WeightsAreReadAgainWhenTheirVersionChanges) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {2, 6, 6, 16});
  const Value kernel = graph.variable("kernel", {16, 16, 3, 3});
  const Value y = ops::conv2d(x, kernel, {}, {.padding = Padding::same()});
  const Value loss = ops::reduce_sum(ops::square(y));
  const Value dx = gradients(loss, {x})[0];
  Tensor input(DType::kFloat32, {2, 6, 6, 16});
  fill_uniform(1, 0, input.mutable_as<float>(), -1, 1);
  Tensor first(DType::kFloat32, {16, 16, 3, 3});
  fill_uniform(2, 0, first.mutable_as<float>(), -1, 1);
  Tensor second(DType::kFloat32, {16, 16, 3, 3});
  fill_uniform(3, 0, second.mutable_as<float>(), -1, 1);

  Tensor bound(DType::kFloat32, {16, 16, 3, 3});  // All versions have one address.
  Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = {y, dx}}));
  const auto reference = backend_or_die("reference");
  struct Run {
    const Tensor& weights;
    VersionId version;
  };
  const std::vector<Run> runs{{first, {1, 1}}, {first, {1, 1}}, {second, {1, 2}}, {first, {2, 2}},
                              {second, {}},    {first, {}},     {first, {1, 1}}};
  for (size_t i = 0; i < runs.size(); ++i) {
    std::memcpy(bound.mutable_view().data, runs[i].weights.view().data, bound.bytes());
    value_or_raise(runner.run({{"x", input}, {"kernel", bound.clone()}}, {}, runs[i].version));
    const auto expected = value_or_raise(run_once(*reference, graph, {y, dx}, {{"x", input}, {"kernel", runs[i].weights}}));
    expect_close(runner.fetched(0), expected[0], "y of run " + std::to_string(i));
    expect_close(runner.fetched(1), expected[1], "dx of run " + std::to_string(i));
  }
}

TEST_P(BackendConformance, NaNIsNotLost) {
  const float nan = std::nanf("");
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {1, 2, 2, 1});
  const std::vector<Value> values{ops::relu(x), ops::max_pool(x), ops::reduce_sum(x), ops::softmax(x)};
  const auto results =
      value_or_raise(run_once(*backend_, graph, values, {{"x", Tensor::of<float>({1, 2, 2, 1}, {-1, 2, nan, 1})}}));
  EXPECT_TRUE(std::isnan(results[0].as<float>()[2])) << "relu";
  EXPECT_EQ(results[0].as<float>()[0], 0.0f);
  EXPECT_TRUE(std::isnan(results[1].as<float>()[0])) << "max_pool";
  EXPECT_TRUE(std::isnan(results[2].as<float>()[0])) << "reduce_sum";
  EXPECT_TRUE(std::isnan(results[3].as<float>()[2])) << "softmax";
}

/// Whether the pass that puts a max_pool before its relu applies, which a fetch of the relu prevents, changes no bit.
TEST_P(BackendConformance, AReluAfterItsMaxPoolGivesTheSameBits) {
  const Shape shape{3, 7, 6, 5};
  Tensor image(DType::kFloat32, shape);
  fill_uniform(1, 0, image.mutable_as<float>(), -1, 0.5f);  // Whole windows are negative, and equal after the relu.
  image.mutable_as<float>()[17] = std::nanf("");
  image.mutable_as<float>()[40] = -std::numeric_limits<float>::infinity();
  const std::vector<ops::PoolOptions> pools{{}, {.window = {3, 3}, .strides = {2, 1}, .padding = Padding::same()}};
  for (const ops::PoolOptions& options : pools) {
    Graph graph;
    const Value x = graph.input("x", DType::kFloat32, shape);
    const Value relu = ops::relu(ops::scale(x, 1.5));
    const Value y = ops::max_pool(relu, options);
    const Value dx = gradients(ops::reduce_sum(ops::square(y)), {x})[0];
    const auto swapped = value_or_raise(run_once(*backend_, graph, {y, dx}, {{"x", image}}));
    const auto kept = value_or_raise(run_once(*backend_, graph, {y, dx, relu}, {{"x", image}}));
    EXPECT_TRUE(same_bits(swapped[0], kept[0]));
    EXPECT_TRUE(same_bits(swapped[1], kept[1]));
  }
}

struct Limits {
  const char* name;
  Value (*make)(Value);
  float below, above;              ///< The values at minus infinity and at infinity.
  float slope_below, slope_above;  ///< The gradients at minus infinity and at infinity.
};

TEST_P(BackendConformance, FunctionsReachTheirLimitsAndKeepNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Limits> functions{
      {"relu", [](Value x) { return ops::relu(x); }, 0, kInfinity, 0, 1},
      {"exp", [](Value x) { return ops::exp(x); }, 0, kInfinity, 0, kInfinity},
      {"log", [](Value x) { return ops::log(x); }, kNaN, kInfinity, 0, 0},
      {"sqrt", [](Value x) { return ops::sqrt(x); }, kNaN, kInfinity, kNaN, 0},
      {"rsqrt", [](Value x) { return ops::rsqrt(x); }, kNaN, 0, kNaN, 0},
      {"reciprocal", [](Value x) { return ops::reciprocal(x); }, 0, 0, 0, 0},
      {"abs", [](Value x) { return ops::abs(x); }, kInfinity, kInfinity, -1, 1},
      {"erf", [](Value x) { return ops::erf(x); }, -1, 1, 0, 0},
      {"sigmoid", [](Value x) { return ops::sigmoid(x); }, 0, 1, 0, 0},
      {"tanh", [](Value x) { return ops::tanh(x); }, -1, 1, 0, 0},
      {"softplus", [](Value x) { return ops::softplus(x); }, 0, kInfinity, 0, 1},
      {"leaky_relu", [](Value x) { return ops::leaky_relu(x, 0.25); }, -kInfinity, kInfinity, 0.25f, 1},
      {"elu", [](Value x) { return ops::elu(x, 0.5); }, -0.5f, kInfinity, 0, 1},
      {"gelu", [](Value x) { return ops::gelu(x); }, 0, kInfinity, 0, 1},
      {"gelu_tanh", [](Value x) { return ops::gelu(x, ops::GeluForm::kTanh); }, 0, kInfinity, 0, 1},
      {"silu", [](Value x) { return ops::silu(x); }, 0, kInfinity, 0, 1}};
  auto expect_same = [](float actual, float expected, const std::string& what) {
    EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
        << what << ": " << actual << ", expected " << expected;
  };
  for (const Limits& function : functions) {
    Graph graph;
    const Value x = graph.input("x", DType::kFloat32, {3});
    const Value y = function.make(x);
    const Value dx = gradients(ops::reduce_sum(y), {x})[0];
    const auto results =
        value_or_raise(run_once(*backend_, graph, {y, dx}, {{"x", Tensor::of<float>({3}, {-kInfinity, kInfinity, kNaN})}}));
    const auto values = results[0].as<float>(), slopes = results[1].as<float>();
    expect_same(values[0], function.below, std::string(function.name) + " at minus infinity");
    expect_same(values[1], function.above, std::string(function.name) + " at infinity");
    expect_same(values[2], kNaN, std::string(function.name) + " of NaN");
    expect_same(slopes[0], function.slope_below, std::string(function.name) + ", slope at minus infinity");
    expect_same(slopes[1], function.slope_above, std::string(function.name) + ", slope at infinity");
  }
}

/// The last batch of an epoch is smaller: the same graph compiled for another size gives the same rows.
TEST_P(BackendConformance, TheSameGraphRunsForOtherBatchSizes) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {Dim::symbol("batch"), 5});
  const Value y = ops::relu(ops::dense(x, graph.variable("kernel", {4, 5}), graph.variable("bias", {4})));
  Tensor kernel(DType::kFloat32, {4, 5});
  fill_uniform(1, 0, kernel.mutable_as<float>(), -1, 1);
  const Tensor bias = Tensor::of<float>({4}, {0.5f, -0.5f, 0, 1});
  Tensor all(DType::kFloat32, {6, 5});
  fill_uniform(2, 0, all.mutable_as<float>(), -1, 1);
  const auto whole =
      value_or_raise(run_once(*backend_, graph, {y}, {{"x", all}, {"kernel", kernel}, {"bias", bias}}, {{"batch", 6}}))[0];
  const Tensor two = Tensor::of<float>({2, 5}, all.as<float>().subspan(0, 10));
  const auto part =
      value_or_raise(run_once(*backend_, graph, {y}, {{"x", two}, {"kernel", kernel}, {"bias", bias}}, {{"batch", 2}}))[0];
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(part.as<float>()[i], whole.as<float>()[i], 1e-6);
}

/// Sizes that are worth several threads, which take whole sequences, or parts of a step where there are few.
TEST_P(BackendConformance, ThreadsChangeNoBitOfRecurrencesAndAttention) {
  for (int64_t count : {2, 16}) {
    Graph graph;
    Feeds feeds;
    auto feed = [&](Value value, uint64_t key) {
      Tensor data(DType::kFloat32, value_or_raise(value.shape().resolve({})));
      fill_uniform(RandomKey{key}, 0, data.mutable_as<float>(), -1, 1);
      feeds.emplace(graph.node(value.node()).name, std::move(data));
      return value;
    };
    const Value projection = feed(graph.input("projection", DType::kFloat32, {count, 3, 512}), 1);
    const Value kernel = feed(graph.variable("kernel", {512, 128}), 2);
    const Value x = feed(graph.input("x", DType::kFloat32, {count, 64, 3 * 64}), 3);
    const Value sequence = ops::lstm(projection, ops::scale(kernel, 0.1)).sequence;
    const Value attended = ops::self_attention(x, {.heads = 4, .causal = true}).result;
    std::vector<Value> values{sequence, attended};
    const Value loss = ops::reduce_sum(ops::square(sequence)) + ops::reduce_sum(ops::square(attended));
    for (const Value& gradient : gradients(loss, {projection, x})) values.push_back(gradient);
    std::vector<Tensor> one;
    for (int threads : {1, 2, 3}) {
      Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = values, .threads = threads}));
      EXPECT_EQ(runner.info().threads, threads);
      value_or_raise(runner.run(feeds));
      for (size_t i = 0; i < values.size(); ++i) {
        if (threads == 1) {
          one.push_back(runner.fetched(i));
        } else {
          EXPECT_TRUE(same_bits(runner.fetched(i), one[i])) << "value " << i << " of " << count << ", threads: " << threads;
        }
      }
    }
  }
}

TEST_P(BackendConformance, RefusesALengthOutOfRange) {
  Graph graph;
  const Value lengths = graph.input("lengths", DType::kInt64, {2});
  const Value projection = graph.input("projection", DType::kFloat32, {2, 3, 4});
  const Value x = graph.input("x", DType::kFloat32, {2, 3, 3});
  const Feeds zeros{{"kernel", Tensor::zeros(DType::kFloat32, {4, 1})},
                    {"projection", Tensor::zeros(DType::kFloat32, {2, 3, 4})},
                    {"x", Tensor::zeros(DType::kFloat32, {2, 3, 3})}};
  for (const Value& value : {ops::lstm(projection, graph.variable("kernel", {4, 1}), {.lengths = lengths}, "a").sequence,
                             ops::self_attention(x, {.lengths = lengths}, "a").result}) {
    Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = {value}}));
    for (int64_t wrong : {4, -1}) {
      Feeds feeds = zeros;
      feeds.emplace("lengths", Tensor::of<int64_t>({2}, {3, wrong}));
      const auto result = runner.run(feeds);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
      EXPECT_THAT(result.error().message(), HasSubstr("length " + std::to_string(wrong) + " in row 1 is outside [0, 3]"));
    }
  }
}

/// What stands at positions that do not count is not looked at: not even NaN gets out of it.
TEST_P(BackendConformance, PaddingIsNotLookedAt) {
  const float nan = std::nanf("");
  Graph graph;
  const Value lengths = graph.constant(Tensor::of<int64_t>({1}, {1}));
  const Value projection = graph.input("projection", DType::kFloat32, {1, 2, 4});
  const Value key = graph.input("key", DType::kFloat32, {1, 2, 1});
  const ops::Lstm lstm =
      ops::lstm(projection, graph.constant(Tensor::zeros(DType::kFloat32, {4, 1})), {.lengths = lengths});
  const Value first = graph.constant(Tensor::of<float>({1, 2, 1}, {1, 0}));
  const Value query = graph.constant(Tensor::zeros(DType::kFloat32, {1, 2, 1}));
  const Value from_key = ops::attention(query, key, key, {.lengths = lengths}).result;
  std::vector<Value> values{lstm.sequence, lstm.last_hidden, from_key};
  const Value loss = ops::reduce_sum(lstm.sequence) + ops::reduce_sum(from_key * first);
  for (const Value& gradient : gradients(loss, {projection, key})) values.push_back(gradient);
  const auto results =
      value_or_raise(run_once(*backend_, graph, values,
                              {{"projection", Tensor::of<float>({1, 2, 4}, {1, 2, 3, 4, nan, nan, nan, nan})},
                               {"key", Tensor::of<float>({1, 2, 1}, {0.5f, nan})}}));
  for (size_t i = 0; i < results.size(); ++i) {
    for (float value : list<float>(results[i])) EXPECT_FALSE(std::isnan(value)) << "value " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, BackendConformance, ::testing::ValuesIn(backend_names()),
                         [](const auto& test_info) { return test_info.param; });

// The suite about itself: an op without a case fails it.

TEST(BackendConformanceCases, EveryOpHasACase) {
  std::set<std::string> covered;
  const auto reference = backend_or_die("reference");
  for (const OpCase& op_case : op_cases()) {
    BuiltCase built(op_case);
    const Runner runner = value_or_raise(Runner::make(*reference, built.builder.graph(), {.fetches = compared(built)}));
    for (const auto& kernel : runner.info().kernels) covered.insert(kernel.op);
    for (const Node& node : built.builder.graph().nodes()) {
      const OpDef* op = OpCatalogue::built_in().find(node.op);
      if (op && op->stops_gradient) covered.insert(node.op);  // Programs are without it.
    }
  }
  for (const std::string& op : OpCatalogue::built_in().names())
    EXPECT_TRUE(covered.contains(op)) << op << " needs a case in op_cases.cc";
}

TEST(BackendConformanceCases, EveryGradientHasACase) {
  std::set<std::string> covered;
  for (const OpCase& op_case : op_cases()) {
    if (!op_case.differentiable.empty()) covered.insert(op_case.op);
  }
  for (const std::string& op : OpCatalogue::built_in().names()) {
    if (OpCatalogue::built_in().find(op)->gradient) {
      EXPECT_TRUE(covered.contains(op)) << op << " has a gradient and needs a case in op_cases.cc that differentiates";
    }
  }
}

}  // namespace
}  // namespace shoal::backends::testing
