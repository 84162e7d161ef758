// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/initializers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace shoal::nn {
namespace {

using testing::HasSubstr;
using Kind = Initializer::Kind;

std::vector<float> made(const Initializer& initializer, RandomKey key, int64_t first, size_t count) {
  std::vector<float> values(count);
  value_or_raise(initialize(initializer, key, first,
                            {DType::kFloat32, Shape{int64_t(count)}, reinterpret_cast<std::byte*>(values.data())}));
  return values;
}

struct Moments {
  double mean, stddev, lowest, highest;
};
Moments moments(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v, squares += v * v;
  const double mean = sum / double(values.size());
  const auto [low, high] = std::ranges::minmax(values);
  return {mean, std::sqrt(squares / double(values.size()) - mean * mean), low, high};
}

TEST(Fans, CountInputsAndOutputsOfKernels) {
  EXPECT_EQ(fans_of(Shape{10, 784}).in, 784);
  EXPECT_EQ(fans_of(Shape{10, 784}).out, 10);
  EXPECT_EQ(fans_of(Shape{64, 32, 5, 3}).in, 32 * 15);
  EXPECT_EQ(fans_of(Shape{64, 32, 5, 3}).out, 64 * 15);
  EXPECT_EQ(fans_of(Shape{7}).in, 7);
}

TEST(Initializers, ResolveToTheNumbersOfTheirPapers) {
  const Fans fans{.in = 300, .out = 100};
  const double glorot = std::sqrt(6.0 / 400), he = std::sqrt(6.0 / 300);
  EXPECT_EQ(glorot_uniform().resolve(fans).kind, Kind::kUniform);
  EXPECT_NEAR(glorot_uniform().resolve(fans).a, -glorot, 1e-12);
  EXPECT_NEAR(glorot_uniform().resolve(fans).b, glorot, 1e-12);
  EXPECT_NEAR(he_uniform().resolve(fans).b, he, 1e-12);
  EXPECT_EQ(zeros().resolve(fans), (Initializer{Kind::kConstant, 0, 0}));
  EXPECT_EQ(ones().resolve(fans), (Initializer{Kind::kConstant, 1, 0}));
  EXPECT_EQ(uniform(-2, 3).resolve(fans), (Initializer{Kind::kUniform, -2, 3}));
  EXPECT_EQ(normal(1, 2).resolve(fans), (Initializer{Kind::kNormal, 1, 2}));
  EXPECT_EQ(InitializerSpec(Initializer{Kind::kConstant, 5, 0}).resolve(fans).a, 5);
  EXPECT_EQ(glorot_uniform(), glorot_uniform());
  EXPECT_FALSE(glorot_uniform() == he_uniform());
}

TEST(Initializers, HaveTheStatedStatistics) {
  const Fans fans{.in = 300, .out = 100};
  constexpr size_t kCount = 400'000;
  struct Case {
    const char* name;
    InitializerSpec spec;
    double mean, stddev, limit;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Case> cases{
      {"glorot_uniform", glorot_uniform(), 0, std::sqrt(2.0 / 400), std::sqrt(6.0 / 400)},
      {"glorot_normal", glorot_normal(), 0, std::sqrt(2.0 / 400), 2 * std::sqrt(2.0 / 400) / 0.8796},
      {"lecun_uniform", lecun_uniform(), 0, std::sqrt(1.0 / 300), std::sqrt(3.0 / 300)},
      {"lecun_normal", lecun_normal(), 0, std::sqrt(1.0 / 300), 2 * std::sqrt(1.0 / 300) / 0.8796},
      {"he_uniform", he_uniform(), 0, std::sqrt(2.0 / 300), std::sqrt(6.0 / 300)},
      {"he_normal", he_normal(), 0, std::sqrt(2.0 / 300), 2 * std::sqrt(2.0 / 300) / 0.8796},
      {"normal", normal(3, 0.5), 3, 0.5, infinity},
      {"truncated_normal", truncated_normal(-1, 2), -1, 2 * 0.87962566, 2 * 2},
      {"uniform", uniform(2, 4), 3, 2 / std::sqrt(12.0), 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Moments seen = moments(made(c.spec.resolve(fans), 42, 0, kCount));
    EXPECT_NEAR(seen.mean, c.mean, 5 * c.stddev / std::sqrt(double(kCount)));  // Five standard errors.
    EXPECT_NEAR(seen.stddev, c.stddev, 0.01 * c.stddev);
    EXPECT_GE(seen.lowest, c.mean - c.limit * 1.0001);
    EXPECT_LE(seen.highest, c.mean + c.limit * 1.0001);
    if (std::isfinite(c.limit)) {
      EXPECT_LT(seen.lowest, c.mean - 0.95 * c.limit) << "the tails are missing";
      EXPECT_GT(seen.highest, c.mean + 0.95 * c.limit) << "the tails are missing";
    }
  }
}

TEST(Initializers, AnySplitOfAVariableGivesTheSameBits) {
  constexpr size_t kCount = 1000;
  for (const InitializerSpec& spec : {uniform(-1, 1), normal(0, 1), truncated_normal(0, 1), constant(0.5)}) {
    const Initializer initializer = spec.resolve({});
    SCOPED_TRACE(int(initializer.kind));
    const std::vector<float> whole = made(initializer, 9, 0, kCount);
    for (const size_t part : {1, 3, 7, 64, 333}) {
      for (size_t first = 0; first < kCount; first += part) {
        const size_t count = std::min(part, kCount - first);
        const std::vector<float> piece = made(initializer, 9, int64_t(first), count);
        ASSERT_EQ(std::memcmp(piece.data(), whole.data() + first, count * sizeof(float)), 0) << first << " by " << part;
      }
    }
  }
}

Tensor matrix_of(const InitializerSpec& spec, const Shape& shape, RandomKey key = 5) {
  Tensor tensor(DType::kFloat32, shape);
  value_or_raise(initialize(spec.resolve({}, shape), key, 0, tensor.mutable_view()));
  return tensor;
}

/// Sums of products of rows (or columns) of a matrix, two by two.
void expect_orthonormal(const Tensor& matrix, bool of_rows, double gain) {
  const auto values = matrix.as<float>();
  const int64_t rows = matrix.shape()[0], columns = matrix.elements() / rows;
  const int64_t count = of_rows ? rows : columns, length = of_rows ? columns : rows;
  const auto at = [&](int64_t i, int64_t k) { return double(values[size_t(of_rows ? i * columns + k : k * columns + i)]); };
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < length; ++k) sum += at(i, k) * at(j, k);
      ASSERT_NEAR(sum, i == j ? gain * gain : 0, 1e-6 * gain * gain) << i << ", " << j;
    }
  }
}

TEST(Orthogonal, RowsOrColumnsWhicheverAreFewer) {
  expect_orthonormal(matrix_of(orthogonal(), {1, 1}), true, 1);
  expect_orthonormal(matrix_of(orthogonal(), {33, 33}), true, 1);
  expect_orthonormal(matrix_of(orthogonal(), {33, 33}), false, 1);
  expect_orthonormal(matrix_of(orthogonal(), {7, 40}), true, 1);
  expect_orthonormal(matrix_of(orthogonal(), {128, 32}), false, 1);
  expect_orthonormal(matrix_of(orthogonal(), {200, 200}), true, 1);
  expect_orthonormal(matrix_of(orthogonal(2.5), {9, 17}), true, 2.5);
  expect_orthonormal(matrix_of(orthogonal(), {8, 3, 2, 2}), true, 1);  // It is seen as [8, 12].
}

/// Drawn evenly, no direction is preferred: elements have mean 0 and variance 1 / length, and the sign of none is fixed.
TEST(Orthogonal, IsDrawnEvenly) {
  constexpr int kTries = 400;
  double sum = 0, squares = 0, corner = 0, trace = 0;
  for (uint64_t key = 0; key < kTries; ++key) {
    const Tensor matrix = matrix_of(orthogonal(), {8, 8}, RandomKey{key});
    const auto values = matrix.as<float>();
    for (float value : values) sum += value, squares += value * value;
    corner += values[0];
    for (size_t i = 0; i < 8; ++i) trace += values[9 * i];
  }
  EXPECT_NEAR(squares / (64 * kTries), 1.0 / 8, 1e-6);
  EXPECT_NEAR(sum / (64 * kTries), 0, 5 * std::sqrt(1.0 / 8 / (64 * kTries)));
  EXPECT_NEAR(corner / kTries, 0, 5 * std::sqrt(1.0 / 8 / kTries));
  EXPECT_NEAR(trace / kTries, 0, 5 * std::sqrt(1.0 / kTries)) << "the variance of a random orthogonal matrix's trace is 1";
}

TEST(Orthogonal, AnySplitByRowsGivesTheSameBits) {
  const Tensor whole = matrix_of(orthogonal(), {10, 6});
  for (int64_t part : {1, 3, 10}) {
    for (int64_t row = 0; row < 10; row += part) {
      Tensor piece(DType::kFloat32, {std::min(part, 10 - row), 6});
      value_or_raise(initialize(orthogonal().resolve({}, {10, 6}), 5, row * 6, piece.mutable_view()));
      ASSERT_EQ(std::memcmp(piece.view().data, whole.view().data + row * 24, piece.bytes()), 0) << row << " by " << part;
    }
  }
}

TEST(Orthogonal, RefusesWhatIsNoMatrix) {
  const auto refused_spec = [](const Shape& shape) {
    try {
      orthogonal().resolve({}, shape);
    } catch (const Exception& exception) {
      return std::string(exception.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused_spec({}), HasSubstr("needs a variable of two axes or more"));
  EXPECT_THAT(refused_spec({5}), HasSubstr("needs a variable of two axes or more"));
  EXPECT_THAT(refused_spec({5, 0}), HasSubstr("that has elements, not [5, 0]"));
  const auto refused = [](double rows, const Shape& shape, int64_t first) {
    Tensor out(DType::kFloat32, shape);
    const Result<void> result = initialize({Kind::kOrthogonal, 1, rows}, 1, first, out.mutable_view());
    return result ? std::string("accepted") : result.error().message();
  };
  EXPECT_THAT(refused(0, {2, 2}, 0), HasSubstr("expected a whole number from 1 to 2^26"));
  EXPECT_THAT(refused(2.5, {2, 2}, 0), HasSubstr("expected a whole number from 1 to 2^26"));
  EXPECT_THAT(refused(1e18, {2, 2}, 0), HasSubstr("expected a whole number from 1 to 2^26"));
  EXPECT_THAT(refused(2, {3, 2}, 0), HasSubstr("is no part of an orthogonal matrix of 2 rows"));
  EXPECT_THAT(refused(4, {2, 2}, 6), HasSubstr("is no part of an orthogonal matrix"));
  EXPECT_THAT(refused(4, {2, 2}, 1), HasSubstr("is no part of an orthogonal matrix"));
  EXPECT_THAT(refused(1 << 26, {1, 2}, 0), HasSubstr("more than 2^26 elements"));
  EXPECT_EQ(refused(4, {0, 2}, 0), "accepted");
}

TEST(Initializers, KeysDependOnSeedAndName) {
  EXPECT_EQ(variable_key(1, "dense/kernel"), variable_key(1, "dense/kernel"));
  EXPECT_NE(variable_key(1, "dense/kernel"), variable_key(2, "dense/kernel"));
  EXPECT_NE(variable_key(1, "dense/kernel"), variable_key(1, "dense_1/kernel"));
  const Initializer initializer = normal(0, 1).resolve({});
  EXPECT_NE(made(initializer, variable_key(1, "a"), 0, 4), made(initializer, variable_key(1, "b"), 0, 4));
}

TEST(Initializers, ConstantsFillEveryType) {
  for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kUInt8, DType::kBool}) {
    Tensor tensor(dtype, Shape{3});
    ASSERT_TRUE(initialize(ones().resolve({}), 0, 0, tensor.mutable_view())) << to_string(dtype);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NE(std::memcmp(tensor.view().data + i * size_of(dtype), "\0\0\0\0\0\0\0", size_of(dtype)), 0);
    }
  }
  Tensor ids(DType::kInt64, Shape{2});
  ASSERT_TRUE(initialize(constant(-7).resolve({}), 0, 0, ids.mutable_view()));
  EXPECT_EQ(ids.as<int64_t>()[1], -7);
}

TEST(Initializers, RefuseWhatCannotBeMade) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor floats(DType::kFloat32, Shape{2}), bytes(DType::kUInt8, Shape{2}), wide(DType::kInt64, Shape{2});
  Tensor halves(DType::kFloat16, Shape{2});
  const auto refused = [](const Initializer& initializer, Tensor& out, int64_t first) {
    const Result<void> result = initialize(initializer, 1, first, out.mutable_view());
    if (result) return std::string("accepted");
    EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
    return result.error().message();
  };
  EXPECT_THAT(refused({Kind(9), 0, 0}, floats, 0), HasSubstr("unknown kind 9"));
  EXPECT_THAT(refused({Kind::kConstant, nan, 0}, floats, 0), HasSubstr("must be finite"));
  EXPECT_THAT(refused({Kind::kConstant, 1e300, 0}, floats, 0), HasSubstr("must be finite in float32"));
  EXPECT_THAT(refused({Kind::kUniform, 1, -1}, floats, 0), HasSubstr("low is above high"));
  EXPECT_THAT(refused({Kind::kNormal, 0, -1}, floats, 0), HasSubstr("standard deviation is -1"));
  EXPECT_THAT(refused({Kind::kTruncatedNormal, 0, -1}, floats, 0), HasSubstr("standard deviation is -1"));
  EXPECT_THAT(refused({Kind::kConstant, 0, 0}, floats, -1), HasSubstr("first element is -1"));
  EXPECT_THAT(refused({Kind::kUniform, 0, 1}, bytes, 0), HasSubstr("random values are float32"));
  EXPECT_THAT(refused({Kind::kConstant, 256, 0}, bytes, 0), HasSubstr("cannot be held by uint8"));
  EXPECT_THAT(refused({Kind::kConstant, 0.5, 0}, wide, 0), HasSubstr("cannot be held by int64"));
  EXPECT_THAT(refused({Kind::kConstant, 0x1p63, 0}, wide, 0), HasSubstr("cannot be held by int64"));
  EXPECT_THAT(refused({Kind::kConstant, 1, 0}, halves, 0), HasSubstr("no constants of float16"));
  EXPECT_THROW(InitializerSpec::variance_scaling(1, InitializerSpec::Fan::kIn, Kind::kConstant), Exception);
  EXPECT_THROW(InitializerSpec::variance_scaling(0, InitializerSpec::Fan::kIn, Kind::kUniform), Exception);
}

}  // namespace
}  // namespace shoal::nn
