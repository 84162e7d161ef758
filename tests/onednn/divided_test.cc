// SPDX-License-Identifier: Apache-2.0
/// oneDNN's primitives in parts that are computed beside each other: what comes out is what the reference computes, the
/// same bits from run to run, whoever else is busy, and, with AVX-512, on any number of threads. (With AVX2 alone oneDNN
/// computes a part of a product by other sums than the whole; the number of threads is part of Numerics.) Sizes are worth
/// several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "../backends/run_graph.h"
#include "shoal/backends/reference.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using MakeVariable = std::function<Value(const char* name, Shape shape)>;

struct DividedCase {
  std::string name;
  std::function<Value(const MakeVariable& variable)> result;
  /// The name of a result of which each thread adds up its own share, so that bits depend on how many there are.
  std::string added_up_by_threads = {};
};

std::ostream& operator<<(std::ostream& out, const DividedCase& each) { return out << each.name; }

/// Take the cores from those who compute.
class BusyThreads {
 public:
  explicit BusyThreads(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!ends_.load(std::memory_order_relaxed)) continue;
      });
    }
  }
  ~BusyThreads() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

class Divided : public ::testing::TestWithParam<DividedCase> {
 protected:
  /// The result, and the gradients of a sum of it for all that it is made of.
  std::vector<Tensor> run(Backend& backend, int threads) {
    Graph graph;
    std::vector<Value> variables;
    names_.clear();
    Feeds feeds;
    const Value y = GetParam().result([&](const char* name, const Shape& shape) {
      feeds.emplace(name, random_tensor(shape, variables.size() + 1));
      names_.push_back(name);
      return variables.emplace_back(graph.variable(name, shape));
    });
    // Elements count differently, or some would have no gradient to speak of.
    const Value weight = ops::sigmoid(y);
    std::vector<Value> values = gradients(ops::reduce_sum(ops::mul(y, weight)), variables);
    values.push_back(y);
    names_.push_back("result");
    Runner runner = value_or_raise(Runner::make(backend, graph, {.fetches = values, .threads = threads}));
    if (backend.name() == "onednn") {
      EXPECT_EQ(runner.info().threads, threads);
    }
    value_or_raise(runner.run(feeds));
    std::vector<Tensor> results;
    for (size_t i = 0; i < values.size(); ++i) results.push_back(runner.fetched(i));
    for (const auto& kernel : runner.info().kernels) divided_ += kernel.implementation.ends_with(" parts");
    return results;
  }

  int divided_ = 0;                 // How many kernels ran in parts.
  std::vector<std::string> names_;  // The names of what comes out.
};

TEST_P(Divided, IsWhatTheReferenceComputesOnAnyNumberOfThreads) {
  const auto expected = run(*backend_or_die("reference"), 1);
  std::vector<Tensor> alone;
  for (const int threads : {1, 2, 3, 4, 7}) {
    const auto backend = backend_or_die("onednn");
    const bool wide = backend->numerics(threads).isa.starts_with("avx512");
    divided_ = 0;
    const auto actual = run(*backend, threads);
    EXPECT_EQ(divided_ > 0, threads > 1);
    if (threads == 1) alone = actual;
    const BusyThreads busy(2);
    const auto again = run(*backend, threads);
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(names_[i] + ", " + std::to_string(threads) + " threads");
      EXPECT_TRUE(same_bits(actual[i], again[i]));
      if (wide && names_[i] != GetParam().added_up_by_threads) {
        EXPECT_TRUE(same_bits(actual[i], alone[i]));
      }
      const auto a = actual[i].as<float>(), e = expected[i].as<float>();
      double largest = 0, difference = 0;
      for (size_t k = 0; k < e.size(); ++k) {
        largest = std::max(largest, std::fabs(double(e[k])));
        difference = std::max(difference, std::fabs(double(a[k]) - double(e[k])));
      }
      EXPECT_GT(largest, 0);
      EXPECT_LE(difference, 2e-5 * largest);
    }
  }
}

DividedCase convolution(const std::string& name, Shape image, Shape kernel, ops::Conv2dOptions options) {
  return {name,
          [=](const MakeVariable& variable) {
            return ops::conv2d(variable("image", image), variable("kernel", kernel), variable("bias", Shape{kernel[0]}),
                               options);
          },
          image[0] > 1 ? "kernel" : ""};
}

DividedCase transposed(const std::string& name, Shape image, Shape kernel, ops::Conv2dTransposeOptions options) {
  return {name,
          [=](const MakeVariable& variable) {
            return ops::conv2d_transpose(variable("image", image), variable("kernel", kernel),
                                         variable("bias", Shape{kernel[1] * options.groups}), options);
          },
          image[0] > 1 ? "kernel" : ""};
}

DividedCase product(const std::string& name, Shape a, Shape b, ops::MatmulOptions options = {}) {
  return {name, [=](const MakeVariable& variable) { return ops::matmul(variable("a", a), variable("b", b), options); }};
}

DividedCase dense(const std::string& name, int64_t rows, int64_t in, int64_t out) {
  return {name, [=](const MakeVariable& variable) {
            return ops::dense(variable("x", {rows, in}), variable("kernel", {out, in}), variable("bias", {out}));
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Convolutions, Divided,
    ::testing::Values(
        convolution("images", {8, 14, 14, 16}, {32, 16, 3, 3}, {.padding = Padding::same()}),
        convolution("fewer_images_than_threads", {3, 28, 28, 16}, {16, 16, 3, 3}, {.padding = Padding::same()}),
        convolution("one_image", {1, 33, 28, 16}, {32, 16, 3, 3}, {.padding = Padding::same()}),
        convolution("one_image_without_padding", {1, 40, 28, 16}, {32, 16, 5, 3}, {}),
        convolution("one_image_in_strides", {1, 65, 66, 16}, {32, 16, 3, 3},
                    {.strides = {2, 2}, .padding = Padding::same()}),
        convolution("one_image_in_strides_over_rows", {1, 61, 60, 16}, {64, 16, 2, 2}, {.strides = {3, 2}}),
        convolution("one_image_in_gaps", {1, 41, 40, 16}, {32, 16, 3, 3},
                    {.padding = Padding::explicit_sizes(4, 1, 2, 2), .dilations = {2, 2}}),
        convolution("one_image_in_groups", {1, 48, 48, 32}, {64, 8, 3, 3}, {.padding = Padding::same(), .groups = 4}),
        convolution("one_colour", {16, 28, 28, 1}, {32, 1, 5, 5}, {.padding = Padding::same()}),
        transposed("transposed", {4, 14, 14, 32}, {32, 16, 3, 3}, {.strides = {2, 2}, .padding = Padding::same()}),
        transposed("transposed_one_image", {1, 17, 28, 32}, {32, 16, 4, 4}, {.strides = {2, 2}})),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Products, Divided,
    ::testing::Values(product("rows", {512, 64}, {64, 40}), product("columns", {40, 64}, {64, 512}),
                      product("transposed_rows", {64, 512}, {40, 64}, {true, true}),
                      product("transposed_columns", {64, 40}, {512, 64}, {true, true}),
                      product("neither_divides", {7, 9000}, {9000, 20}), product("batch", {8, 64, 32}, {8, 32, 96}),
                      product("small_batch", {3, 200, 40}, {3, 40, 96}),
                      product("small_batch_transposed", {3, 40, 200}, {3, 96, 40}, {true, true}),
                      product("one_for_all", {5, 64, 100}, {100, 64}), product("all_for_one", {64, 100}, {5, 100, 64}),
                      product("all_for_one_transposed", {100, 64}, {5, 64, 100}, {true, true}),
                      dense("dense", 100, 300, 90), dense("wide", 100, 90, 900), dense("large", 1024, 128, 700),
                      dense("tall_and_narrow", 1600, 256, 27), dense("square_sums", 2048, 128, 384)),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace shoal::backends::testing
