// SPDX-License-Identifier: Apache-2.0
/// The inner loops of products give the same bits on every instruction set that this processor has, and what they fuse is fused as
/// libm's fma does it.
#include "product_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "panels.h"
#include "shoal/base/random.h"

namespace shoal::backends::portable {
namespace {

/// Draws floats of all kinds: any bits, small whole numbers, halves of units in the last place, denormals, infinities.
class Hostile {
 public:
  explicit Hostile(uint64_t seed) : stream_(seed) {}
  float next() {
    switch (stream_.below(8)) {
      case 0: return std::bit_cast<float>(uint32_t(stream_.below(uint64_t(1) << 32)));
      case 1: return float(int64_t(stream_.below(17)) - 8);
      case 2: return std::ldexp(1.0f + std::ldexp(float(stream_.below(4)), -23), int(stream_.below(8)) - 4);
      case 3: return std::ldexp(float(stream_.below(1 << 12)), int(stream_.below(60)) - 160);  // Denormal products.
      case 4: return std::bit_cast<float>(uint32_t(stream_.below(1 << 23)));                   // Denormal.
      default: return float(stream_.below(1 << 24)) / float(1 << 23) - 1.0f;
    }
  }

 private:
  RandomStream stream_;
};

std::vector<float> ordinary(int64_t count, uint64_t key) {
  std::vector<float> values(static_cast<size_t>(count));
  fill_uniform(RandomKey{key}, 0, values, -1.0f, 1.0f);
  return values;
}

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

class Code : public ::testing::TestWithParam<const ProductCode*> {};

/// Computes c + a b in two ways: by a loop over vectors, and by one element alone.
TEST_P(Code, FusesAsLibmDoes) {
  Hostile hostile(1);
  for (int i = 0; i < 300'000; ++i) {
    const float a = hostile.next(), b = hostile.next();
    const float c = i % 3 == 0 ? -a * b : hostile.next();  // Cancellation leaves the error of the product.
    const float x[] = {1.0f, a}, w[] = {c, b};
    const float expected = std::fma(a, b, std::fma(1.0f, c, 0.0f));
    float alone = 0;
    GetParam()->few_rows_dense({1, 1, 2}, x, w, nullptr, &alone, 0, 1);
    ASSERT_TRUE(same(alone, expected)) << a << " * " << b << " + " << c << " is " << expected << ", not " << alone;
    float panel[2 * kPanelColumns] = {}, sums[kPanelColumns] = {};
    for (int64_t k = 0; k < 2; ++k) std::fill_n(panel + k * kPanelColumns, kPanelColumns, w[k]);
    GetParam()->multiply_rows({.a = x,
                               .a_row_stride = 2,
                               .a_column_stride = 1,
                               .left_packed = false,
                               .panel = panel,
                               .panel_stride = 0,
                               .panel_row_stride = kPanelColumns,
                               .depth = 2,
                               .runs = 1,
                               .run_stride = 0,
                               .c = sums,
                               .c_stride = kPanelColumns,
                               .columns = kPanelColumns,
                               .accumulate = false,
                               .ahead = nullptr,
                               .ahead_stride = 0},
                              1);
    for (const float sum : sums) ASSERT_TRUE(same(sum, expected)) << a << " * " << b << " + " << c << ": " << sum;
  }
}

/// Runs every loop of the table, at sizes that are whole vectors and at others.
std::vector<float> results_of(const ProductCode& code) {
  std::vector<float> results;
  const auto keep = [&](const std::vector<float>& values) { results.insert(results.end(), values.begin(), values.end()); };
  for (const int64_t in : {1, 7, 8, 13, 15, 16, 17, 31, 33, 100, 1500}) {
    for (int64_t rows = 1; rows <= kFewRows; ++rows) {
      const FewRows sizes{rows, 37, in};
      const auto x = ordinary(rows * in, 1), w = ordinary(sizes.out * in, 2), dy = ordinary(rows * sizes.out, 3);
      const auto bias = ordinary(sizes.out, 4);
      std::vector<float> y(size_t(rows * sizes.out)), dx(size_t(rows * in)), dw(size_t(sizes.out * in));
      code.few_rows_dense(sizes, x.data(), w.data(), bias.data(), y.data(), 0, sizes.out);
      code.few_rows_grad_input(sizes, dy.data(), w.data(), dx.data(), 0, sizes.out);
      code.few_rows_grad_kernel(sizes, dy.data(), x.data(), dw.data(), 0, sizes.out);
      keep(y), keep(dx), keep(dw);
    }
    for (const int64_t rows : {5, 8, 32}) {
      if (!small_batch_takes(rows, in)) continue;
      const int64_t out = 19;
      const auto x = ordinary(rows * in, 1), w = ordinary(out * in, 2), bias = ordinary(out, 3);
      std::vector<float> y(size_t(rows * out));
      code.small_batch_dense({rows, out, in, x.data(), w.data(), bias.data(), y.data(), rows == 8}, 0, out);
      keep(y);
    }
  }
  for (const int64_t columns : {1, 5, 16}) {
    for (const int64_t depth : {1, 9, 256}) {
      for (int64_t rows = 1; rows <= 25; ++rows) {
        const auto a = ordinary(rows * depth, 5), panel = ordinary(depth * kPanelColumns, 6);
        std::vector<float> c = ordinary(rows * columns, 7), left(size_t(rows * depth));
        PanelTile tile{.a = a.data(),
                       .a_row_stride = depth,
                       .a_column_stride = 1,
                       .left_packed = false,
                       .panel = panel.data(),
                       .panel_stride = 0,
                       .panel_row_stride = kPanelColumns,
                       .depth = depth,
                       .runs = 1,
                       .run_stride = 0,
                       .c = c.data(),
                       .c_stride = columns,
                       .columns = columns,
                       .accumulate = rows % 2 == 0,
                       .ahead = nullptr,
                       .ahead_stride = 0};
        code.multiply_rows(tile, rows);
        keep(c);
        code.pack_left(a.data(), rows, depth, rows, left.data());
        tile.a = left.data();
        tile.left_packed = true;
        code.multiply_rows(tile, rows);
        keep(c);
      }
    }
  }
  constexpr int64_t kPlainColumns = 40;  // Two panels of a matrix that is not packed, and some columns more.
  for (const int64_t depth : {1, 9, 256}) {
    for (int64_t rows = 1; rows <= 25; ++rows) {
      const auto a = ordinary(depth * rows, 5), b = ordinary(depth * kPlainColumns, 6);
      std::vector<float> c = ordinary(rows * 2 * kPanelColumns, 7);
      for (int64_t p = 0; p < 2; p += code.panels_together) {
        code.multiply_rows({.a = a.data(),
                            .a_row_stride = 1,
                            .a_column_stride = rows,
                            .left_packed = false,
                            .panel = b.data() + p * kPanelColumns,
                            .panel_stride = kPanelColumns,
                            .panel_row_stride = kPlainColumns,
                            .depth = depth,
                            .runs = 1,
                            .run_stride = 0,
                            .c = c.data() + p * kPanelColumns,
                            .c_stride = 2 * kPanelColumns,
                            .columns = code.panels_together * kPanelColumns,
                            .accumulate = rows % 2 == 0,
                            .ahead = nullptr,
                            .ahead_stride = 0},
                           rows);
      }
      keep(c);
    }
  }
  return results;
}

TEST_P(Code, GivesTheBitsOfAllOthers) {
  const auto expected = results_of(*product_codes().back()), actual = results_of(*GetParam());
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_TRUE(same(actual[i], expected[i])) << "number " << i;
}

INSTANTIATE_TEST_SUITE_P(Portable, Code, ::testing::ValuesIn(product_codes().begin(), product_codes().end()),
                         [](const auto& code) { return std::string(code.param->name); });

}  // namespace
}  // namespace shoal::backends::portable
