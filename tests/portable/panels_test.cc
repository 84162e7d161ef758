// SPDX-License-Identifier: Apache-2.0
// Products by panels: each element is one sum in the order of the depth, whatever tile it falls into.
#include "panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "random_floats.h"

namespace shoal::backends::portable {
namespace {

struct Sizes {
  int64_t rows, depth, columns;
};

class Panels : public ::testing::TestWithParam<Sizes> {
 protected:
  /// Room for a result of rows that lie apart, so that what is written beside them shows.
  std::vector<float> result() const { return std::vector<float>(size_t(sizes_.rows * kStride), 7.0f); }

  PanelProduct product(std::vector<float>& c) const {
    return {.a = {a_.data(), sizes_.depth},
            .packed = packed_.data(),
            .c = c.data(),
            .c_stride = kStride,
            .rows = sizes_.rows,
            .depth = sizes_.depth,
            .columns = sizes_.columns};
  }
  /// The same product for a transposed a.
  PanelProduct transposed(std::vector<float>& c) const {
    PanelProduct product = this->product(c);
    product.a = {transposed_.data(), 1, sizes_.rows};
    return product;
  }
  static std::vector<float> run_transposed(const PanelProduct& product, std::vector<float>& c) {
    std::vector<float> left(static_cast<size_t>(kLeftBlockFloats));
    multiply_transposed(product, 0, product.rows, left.data());
    return c;
  }
  std::vector<float> multiplied() const {
    std::vector<float> c = result();
    multiply(product(c));
    return c;
  }

  /// One rounding a term, or two where the instruction set does not fuse them.
  template <class Step>
  std::vector<float> expected(const Step& step, float start = 0.0f) const {
    std::vector<float> c = result();
    for (int64_t row = 0; row < sizes_.rows; ++row) {
      for (int64_t column = 0; column < sizes_.columns; ++column) {
        float sum = start;
        for (int64_t k = 0; k < sizes_.depth; ++k) {
          sum = step(a_[size_t(row * sizes_.depth + k)], b_[size_t(k * sizes_.columns + column)], sum);
        }
        c[size_t(row * kStride + column)] = sum;
      }
    }
    return c;
  }
  static float fused(float a, float b, float sum) { return std::fmaf(a, b, sum); }
  static float rounded(float a, float b, float sum) { return a * b + sum; }

  static constexpr int64_t kStride = 70;
  const Sizes sizes_ = GetParam();
  const std::vector<float> a_ = random_floats(sizes_.rows * sizes_.depth, 1),
                           b_ = random_floats(sizes_.depth * sizes_.columns, 2);
  const std::vector<float> transposed_ = [this] {
    std::vector<float> to(a_.size());
    for (int64_t row = 0; row < sizes_.rows; ++row) {
      for (int64_t k = 0; k < sizes_.depth; ++k) to[size_t(k * sizes_.rows + row)] = a_[size_t(row * sizes_.depth + k)];
    }
    return to;
  }();
  const std::vector<float> packed_ = [this] {
    std::vector<float> to(static_cast<size_t>(packed_floats(sizes_.depth, sizes_.columns)));
    pack({b_.data(), sizes_.columns}, sizes_.depth, sizes_.columns, 1.0f, to.data());
    return to;
  }();
};

TEST_P(Panels, AddUpInTheOrderOfTheDepth) {
  const std::vector<float> c = multiplied();
  EXPECT_TRUE(c == expected(fused) || c == expected(rounded));
}

TEST_P(Panels, OfATransposedMatrixHaveTheSameBits) {
  std::vector<float> c = result();
  EXPECT_EQ(run_transposed(transposed(c), c), multiplied());
}

TEST_P(Panels, AddToWhatIsThere) {
  std::vector<float> c(static_cast<size_t>(sizes_.rows * kStride), 7.0f), other = c;
  PanelProduct product = this->product(c), across = transposed(other);
  product.accumulate = across.accumulate = true;
  multiply(product);
  EXPECT_TRUE(c == expected(fused, 7.0f) || c == expected(rounded, 7.0f));
  EXPECT_EQ(run_transposed(across, other), c);
}

TEST_P(Panels, OfSeveralRunsHaveTheSameBits) {
  for (const int64_t runs : {2, 3, 4, 7}) {
    if (sizes_.depth % runs != 0) continue;
    const int64_t depth = sizes_.depth / runs, row_stride = depth + 2, run_stride = sizes_.rows * row_stride + 5;
    std::vector<float> apart(static_cast<size_t>(runs * run_stride), 9.0f), c = result();
    for (int64_t row = 0; row < sizes_.rows; ++row) {
      for (int64_t k = 0; k < sizes_.depth; ++k) {
        apart[size_t(k / depth * run_stride + row * row_stride + k % depth)] = a_[size_t(row * sizes_.depth + k)];
      }
    }
    PanelProduct product = this->product(c);
    product.a = {apart.data(), row_stride};
    product.depth = depth;
    product.runs = runs;
    product.run_stride = run_stride;
    multiply(product);
    EXPECT_EQ(c, multiplied()) << runs;
  }
}

TEST_P(Panels, InPartsAndWithALookAheadHaveTheSameBits) {
  std::vector<float> c = result();
  PanelProduct product = this->product(c);
  const std::vector<float> next = random_floats(columns_ahead(sizes_.rows) * sizes_.depth, 3);
  product.ahead = next.data();
  product.ahead_stride = columns_ahead(sizes_.rows);
  for (int64_t panel = 0; panel < panel_count(sizes_.columns); ++panel) multiply(product, panel, panel + 1);
  EXPECT_EQ(c, multiplied());
  std::fill(c.begin(), c.end(), 7.0f);
  multiply(product);
  EXPECT_EQ(c, multiplied());
}

// Each number of rows that a tile may have, panels alone, in pairs and in part, and a depth of several blocks.
INSTANTIATE_TEST_SUITE_P(Portable, Panels,
                         ::testing::Values(Sizes{1, 1, 1}, Sizes{1, 5, 16}, Sizes{2, 3, 32}, Sizes{3, 7, 17},
                                           Sizes{4, 9, 31}, Sizes{5, 2, 33}, Sizes{6, 16, 48}, Sizes{7, 4, 47},
                                           Sizes{8, 33, 64}, Sizes{9, 300, 32}, Sizes{10, 3, 40}, Sizes{11, 5, 18},
                                           Sizes{12, 600, 64}, Sizes{13, 20, 32}, Sizes{25, 257, 65}, Sizes{32, 64, 49},
                                           Sizes{97, 17, 35}, Sizes{200, 3, 20}, Sizes{5, 700, 40}, Sizes{13, 1200, 16}));

}  // namespace
}  // namespace shoal::backends::portable
