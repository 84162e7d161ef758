// SPDX-License-Identifier: Apache-2.0
#include "small_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "product_code.h"
#include "random_floats.h"

namespace shoal::backends::portable {
namespace {

struct Batch {
  int64_t rows, out, in;
};

class SmallBatchDense : public ::testing::TestWithParam<Batch> {
 protected:
  SmallBatch product(std::vector<float>& y) const {
    y.assign(size_t(sizes_.rows * sizes_.out), std::nanf(""));
    return {.rows = sizes_.rows,
            .out = sizes_.out,
            .in = sizes_.in,
            .x = x_.data(),
            .w = w_.data(),
            .bias = bias_.data(),
            .y = y.data(),
            .relu = false};
  }

  const Batch sizes_ = GetParam();
  const std::vector<float> x_ = random_floats(sizes_.rows * sizes_.in, 1), w_ = random_floats(sizes_.out * sizes_.in, 2),
                           bias_ = random_floats(sizes_.out, 3);
};

TEST_P(SmallBatchDense, SumsInFloat32) {
  std::vector<float> y;
  product_code().small_batch_dense(product(y), 0, sizes_.out);
  for (int64_t row = 0; row < sizes_.rows; ++row) {
    for (int64_t o = 0; o < sizes_.out; ++o) {
      double sum = bias_[size_t(o)], size = std::fabs(sum);
      for (int64_t i = 0; i < sizes_.in; ++i) {
        const double term = double(x_[size_t(row * sizes_.in + i)]) * w_[size_t(o * sizes_.in + i)];
        sum += term, size += std::fabs(term);
      }
      ASSERT_NEAR(y[size_t(row * sizes_.out + o)], sum, 1e-6 * size) << "row " << row << ", output " << o;
    }
  }
}

TEST_P(SmallBatchDense, HasTheSameBitsInParts) {
  std::vector<float> whole, parts;
  product_code().small_batch_dense(product(whole), 0, sizes_.out);
  const SmallBatch again = product(parts);
  for (int64_t first = 0; first < sizes_.out; first += 4)
    product_code().small_batch_dense(again, first, std::min(first + 4, sizes_.out));
  EXPECT_EQ(whole, parts);
}

INSTANTIATE_TEST_SUITE_P(Portable, SmallBatchDense,
                         ::testing::Values(Batch{1, 1, 8}, Batch{5, 3, 15}, Batch{7, 4, 16}, Batch{12, 6, 17},
                                           Batch{13, 9, 31}, Batch{32, 22, 100}, Batch{31, 19, 1024}, Batch{32, 70, 1025},
                                           Batch{9, 5, 5000}));

}  // namespace
}  // namespace shoal::backends::portable
