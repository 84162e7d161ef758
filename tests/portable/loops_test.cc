// SPDX-License-Identifier: Apache-2.0
/// The backend's own loops: results against double precision, and bits that do not depend on the thread count.
#include "loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "passes.h"
#include "random_floats.h"
#include "threads.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

TEST(VectorExp, IsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  for (float x = -87.2f; x <= 88.0f; x += 0.0137f) {
    const double exact = std::exp(double(x));
    const float rounded = float(exact);
    const double unit = double(std::nextafter(rounded, INFINITY)) - double(rounded);
    worst = std::max(worst, std::fabs(double(vector_exp(x)) - exact) / unit);
  }
  EXPECT_LE(worst, 2.0);
  EXPECT_EQ(vector_exp(0.0f), 1.0f);
}

TEST(VectorExp, FarBelowIsZeroFarAboveInfinityAndNaNStays) {
  EXPECT_EQ(vector_exp(89.0f), std::numeric_limits<float>::infinity());
  EXPECT_EQ(vector_exp(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_EQ(vector_exp(-87.4f), 0.0f);
  EXPECT_EQ(vector_exp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_TRUE(std::isnan(vector_exp(std::numeric_limits<float>::quiet_NaN())));
}

class Sums : public ::testing::TestWithParam<int64_t> {};

TEST_P(Sums, AgreeWithDoublePrecision) {
  const auto x = random_floats(GetParam());
  double exact = 0, magnitude = 0;
  for (float value : x) exact += double(value), magnitude += std::fabs(double(value));
  EXPECT_NEAR(sum(x.data(), GetParam()), exact, 1e-6 * magnitude);
}

INSTANTIATE_TEST_SUITE_P(Loops, Sums, ::testing::Values(0, 1, 63, 64, 65, 4096, 4097, 8192, 12289, 100'003));

struct RowsCase {
  int64_t rows, columns;
};
class RowSums : public ::testing::TestWithParam<RowsCase> {
 protected:
  std::vector<float> run(const std::vector<float>& x, int threads) {
    std::vector<float> y(size_t(columns_), 0.0f), partial(size_t(row_blocks(rows_) * columns_), 0.0f);
    sum_rows(threads, x.data(), rows_, columns_, y.data(), partial.data());
    return y;
  }
  int64_t rows_ = GetParam().rows, columns_ = GetParam().columns;
};

TEST_P(RowSums, AgreeWithDoublePrecision) {
  const auto x = random_floats(rows_ * columns_);
  const auto y = run(x, 1);
  for (int64_t c = 0; c < columns_; ++c) {
    double exact = 0, magnitude = 0;
    for (int64_t r = 0; r < rows_; ++r) {
      const double value = x[size_t(r * columns_ + c)];
      exact += value, magnitude += std::fabs(value);
    }
    ASSERT_NEAR(y[size_t(c)], exact, 1e-6 * magnitude) << "column " << c;
  }
}

TEST_P(RowSums, HaveTheSameBitsOnAnyNumberOfThreads) {
  const auto x = random_floats(rows_ * columns_);
  const auto one = run(x, 1);
  for (int threads : {2, 3, 5}) EXPECT_EQ(run(x, threads), one) << threads << " threads";
}

INSTANTIATE_TEST_SUITE_P(Loops, RowSums,
                         ::testing::Values(RowsCase{1, 1}, RowsCase{7, 3}, RowsCase{8, 16}, RowsCase{511, 10},
                                           RowsCase{512, 10}, RowsCase{513, 10}, RowsCase{25'088, 32},
                                           RowsCase{2'000, 70}));

TEST(ParallelFor, CoversEveryElementOnce) {
  for (int threads : {1, 2, 3}) {
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<int> visits(size_t(count), 0);
      parallel_for(threads, count, int64_t(1) << 30, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++visits[size_t(i)];
      });
      EXPECT_EQ(visits, std::vector<int>(size_t(count), 1)) << threads << " threads";
    }
  }
}

TEST(Elementwise, WritesOverAnInput) {
  const auto x = random_floats(1003), y = random_floats(1003, 6);
  auto expect = [&](auto loop, auto scalar) {
    std::vector<float> over = x;
    loop(over.data(), y.data(), over.data());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(over[i], scalar(x[i], y[i])) << i;
  };
  const auto count = int64_t(x.size());
  expect([&](auto a, auto b, auto out) { add(1, a, b, out, count); }, [](float a, float b) { return a + b; });
  expect([&](auto a, auto b, auto out) { sub(1, a, b, out, count); }, [](float a, float b) { return a - b; });
  expect([&](auto a, auto b, auto out) { mul(1, a, b, out, count); }, [](float a, float b) { return a * b; });
  expect([&](auto a, auto b, auto out) { relu_grad(1, a, b, out, count); },
         [](float a, float b) { return b > 0 ? a : 0.0f; });
  expect([&](auto a, auto, auto out) { relu(1, a, out, count); }, [](float a, float) { return a < 0 ? 0.0f : a; });
  expect([&](auto a, auto, auto out) { scale(1, a, 3.0f, out, count); }, [](float a, float) { return a * 3.0f; });
}

}  // namespace
}  // namespace shoal::backends::portable
