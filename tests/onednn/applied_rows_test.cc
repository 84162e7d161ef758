// SPDX-License-Identifier: Apache-2.0
/// Gradients that are applied row by row while they are made have the bits of those that are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "../backends/run_graph.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

/// Puts the rows together again.
class Collector final : public UpdateApplier {
 public:
  explicit Collector(const Tensor& gradient) : row_elements_(gradient.elements() / gradient.shape()[0]) {
    rows.resize(size_t(gradient.elements()), -7.0f);
    times.resize(size_t(gradient.shape()[0]));
  }
  bool by_rows(size_t) const override { return true; }
  void apply(size_t, int64_t row_begin, int64_t row_end, const std::byte* data) override {
    ++calls;
    const auto* values = reinterpret_cast<const float*>(data);
    std::copy_n(values, (row_end - row_begin) * row_elements_, rows.begin() + row_begin * row_elements_);
    for (int64_t row = row_begin; row < row_end; ++row) ++times[size_t(row)];
  }

 private:
  int64_t row_elements_;

 public:
  std::vector<float> rows;
  std::vector<int> times;
  std::atomic<int> calls = 0;
};

struct Extents {
  int64_t batch, in, out;
};

class AppliedRows : public ::testing::TestWithParam<std::tuple<std::string, Extents>> {};

TEST_P(AppliedRows, HaveTheBitsOfTheWrittenGradient) {
  const auto& [name, extents] = GetParam();
  const auto [batch, in, out] = extents;
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {batch, in});
  const Value dy = graph.input("dy", DType::kFloat32, {batch, out});
  graph.variable("w", {out, in});
  const std::vector<Value> updates = graph.add("dense_grad_kernel", {dy, x});
  const auto backend = backend_or_die(name);
  const Feeds feeds{{"x", random_tensor({batch, in}, 1)}, {"dy", random_tensor({batch, out}, 2)}};
  const bool by_rows = name == "portable" || batch <= 64 || out >= 512;
  const bool while_made = name == "onednn" || batch <= 300;  // Gradients of more rows are summed in their place.
  std::vector<float> first;
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    Runner runner =
        value_or_raise(Runner::make(*backend, graph, {.updates = updates, .update_variables = {"w"}, .threads = threads}));
    value_or_raise(runner.run(feeds));
    const std::vector<float> written = list<float>(runner.update(0));
    Collector collector(runner.update(0));
    value_or_raise(runner.run(feeds, {}, {}, &collector));
    EXPECT_EQ(collector.rows, written);
    EXPECT_EQ(collector.times, std::vector<int>(size_t(out), 1)) << "each row once";
    if (first.empty()) first = written;
    if (!by_rows) continue;
    EXPECT_EQ(written, first) << "depends on the thread count";
    if (out * in > 100'000 && while_made) {
      EXPECT_GT(collector.calls, threads) << "not while they are made";
    }
  }
}

// Around the sizes of tiles (6 rows, 16 columns); oneDNN makes the last two not by rows, and the threads apply them as a whole.
INSTANTIATE_TEST_SUITE_P(Extents, AppliedRows,
                         ::testing::Combine(::testing::Values("onednn", "portable"),
                                            ::testing::Values(Extents{1, 1, 1}, Extents{1, 16, 6}, Extents{2, 15, 5},
                                                              Extents{3, 17, 7}, Extents{4, 333, 301}, Extents{32, 50, 13},
                                                              Extents{1, 784, 512}, Extents{64, 301, 259},
                                                              Extents{65, 48, 8}, Extents{300, 130, 520},
                                                              Extents{200, 300, 300}, Extents{700, 300, 400})));

}  // namespace
}  // namespace shoal::backends::testing
