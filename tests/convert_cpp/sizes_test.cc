// SPDX-License-Identifier: Apache-2.0
/// Ops whose sums depend on sizes, with those at which the order changes; and numbers at the ends of the range.
#include <cmath>
#include <limits>

#include "expect_subjects.h"
#include "shoal/graph/ops.h"

namespace shoal::convert::testing {
namespace {

/// A graph with random data.
class Model {
 public:
  Value input(const std::string& name, const Shape& shape, float factor = 1.0f) {
    Tensor tensor = backends::testing::random_tensor(shape, ++key_);
    for (float& value : tensor.mutable_as<float>()) value *= factor;
    return input(name, std::move(tensor));
  }
  Value input(const std::string& name, Tensor tensor) {
    const Value value = graph_->input(name, tensor.dtype(), tensor.shape());
    feeds_.emplace(name, std::move(tensor));
    return value;
  }
  Value weights(const std::string& name, const Shape& shape) {
    feeds_.emplace(name, backends::testing::random_tensor(shape, ++key_));
    return graph_->variable(name, shape);
  }
  Value weights(const std::string& name, Tensor tensor) {
    const Shape shape = tensor.shape();
    feeds_.emplace(name, std::move(tensor));
    return graph_->variable(name, shape);
  }
  Subject subject(const std::string& name, const std::vector<Value>& outputs) const {
    return value_or_raise(subject_of(name, *graph_, feeds_, outputs));
  }

 private:
  uint64_t key_ = 100;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>(RandomKey{5});
  Feeds feeds_;
};

TEST(CppSizes, DenseLayers) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  std::vector<Subject> subjects;
  for (const int64_t rows : {1, 4, 5, 32, 33}) {
    for (const int64_t in : {1, 7, 8, 15, 16, 37, 1024, 1030, 2100}) {
      for (const int64_t out : {1, 6}) {
        Model m;
        const Value y = ops::dense(m.input("x", {rows, in}), m.weights("w", {out, in}), m.weights("b", {out}));
        subjects.push_back(
            m.subject("dense_" + std::to_string(rows) + "_" + std::to_string(in) + "_" + std::to_string(out), {y}));
      }
    }
  }
  expect_results(subjects, {.flags = "-O2" + fused_flag()});
}

TEST(CppSizes, ProductsOfMatrices) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  std::vector<Subject> subjects;
  for (const int64_t rows : {1, 4, 5, 12, 40}) {
    for (const int64_t depth : {1, 3, 9, 130, 700}) {
      for (const int transposed : {0, 1, 2, 3}) {
        for (const int64_t count : {1, 2}) {
          const bool left = transposed % 2 == 1, right = transposed >= 2;
          Model m;
          const Value a = m.input("a", left ? Shape{count, depth, rows} : Shape{count, rows, depth});
          const Value b = m.input("b", right ? Shape{11, depth} : Shape{depth, 11});
          const std::string name = "matmul_" + std::to_string(rows) + "_" + std::to_string(depth) + "_" +
                                   std::to_string(transposed) + "_" + std::to_string(count);
          subjects.push_back(m.subject(name, {ops::matmul(a, b, {.transpose_a = left, .transpose_b = right})}));
        }
      }
    }
  }
  expect_results(subjects, {.flags = "-O1" + fused_flag()});
}

TEST(CppSizes, ConvolutionsAndReductions) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  std::vector<Subject> subjects;
  for (const int64_t channels : {1, 4, 11, 16}) {
    for (const int64_t dilation : {1, 2}) {
      Model m;
      const Value x = m.input("x", {1, 13, 9, channels});
      const Value y = ops::conv2d(x, m.weights("w", {5, channels, 3, 3}), m.weights("b", {5}),
                                  {.strides = {2, 1}, .padding = Padding::same(), .dilations = {dilation, dilation}});
      subjects.push_back(m.subject("conv_" + std::to_string(channels) + "_" + std::to_string(dilation), {y}));
    }
    Model m;
    Tensor filters = backends::testing::random_tensor({3, channels, 3, 3}, 9);
    filters.mutable_as<float>()[4] = std::numeric_limits<float>::infinity();
    const Value x = m.input("x", {1, 6, 7, channels});
    subjects.push_back(m.subject("conv_infinite_" + std::to_string(channels),
                                 {ops::conv2d(x, m.weights("w", filters), {}, {.padding = Padding::same()}),
                                  ops::conv2d_transpose(x, m.weights("v", {channels, 3, 3, 3}), {},
                                                        {.strides = {2, 2}, .padding = Padding::same()})}));
  }
  for (const Shape& shape :
       {Shape{1, 700, 3}, Shape{1, 9, 513}, Shape{2, 5000}, Shape{1, 20000}, Shape{3, 1030, 2}, Shape{1, 5, 6, 7}}) {
    Model m;
    const Value x = m.input("x", shape);
    std::vector<Value> outputs;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      outputs.push_back(ops::reduce_sum(x, {.axes = {axis}}));
      outputs.push_back(ops::reduce_mean(x, {.axes = {axis}, .keep_dims = true}));
      outputs.push_back(ops::reduce_max(x, {.axes = {axis}}));
    }
    outputs.push_back(ops::reduce_mean(x));
    if (shape.rank() == 4) outputs.push_back(ops::reduce_sum(x, {.axes = {1, 3}}));
    std::string name = "reduce";
    for (const int64_t size : shape.dims()) name += "_" + std::to_string(size);
    subjects.push_back(m.subject(name, outputs));
  }
  for (const int64_t groups : {1, 4}) {
    Model m;
    const Value x = m.input("x", {1, 61, 70, 12});
    subjects.push_back(m.subject("group_norm_" + std::to_string(groups),
                                 {ops::group_norm(x, m.weights("s", {12}), m.weights("t", {12}), {.groups = groups})}));
  }
  expect_results(subjects, {.flags = "-O2" + fused_flag()});
}

TEST(CppSizes, NumbersAtTheEndsOfTheRange) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> numbers{0.0f,   -0.0f, infinity, -infinity, nan,  1e-45f, -1e-39f, 3e38f,
                             -3e38f, 88.8f, -87.5f,   -103.0f,   1.0f, -1.0f,  0.5f};
  for (int i = -40; i <= 40; ++i) numbers.push_back(float(i) * 1.37f);
  Model m;
  const Tensor all = Tensor::of<float>({int64_t(numbers.size())}, std::span<const float>(numbers));
  const Value x = m.input("x", all);
  const Value other = m.input("z", Tensor::of<float>({3, 1}, {-2.0f, 0.5f, infinity}));
  std::vector<Value> outputs{ops::exp(x),
                             ops::log(x),
                             ops::erf(x),
                             ops::sigmoid(x),
                             ops::tanh(x),
                             ops::softplus(x),
                             ops::elu(x),
                             ops::gelu(x),
                             ops::silu(x),
                             ops::relu(x),
                             ops::leaky_relu(x),
                             ops::rsqrt(x),
                             ops::sqrt(x),
                             ops::clip(x, -2, 3),
                             ops::pow(x, other),
                             ops::maximum(x, other),
                             ops::minimum(x, other),
                             ops::argmax(x),
                             ops::reduce_max(x),
                             ops::cast(x, DType::kInt32),
                             ops::cast(x, DType::kUInt8),
                             ops::cast(x, DType::kInt64),
                             ops::softmax(ops::clip(x, -50, 50)),
                             ops::gelu(x, ops::GeluForm::kTanh),
                             ops::top_k(ops::reshape(x, {1, int64_t(numbers.size())}), 7).indices};
  expect_results({m.subject("ends", outputs)}, {.flags = "-O2" + fused_flag()});
  expect_results({m.subject("ends", outputs)},
                 {.flags = "-O1 -fsanitize=undefined -fno-sanitize-recover=all" + fused_flag()});
}

}  // namespace
}  // namespace shoal::convert::testing
