// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include <algorithm>

#include "onnx_model/product_loops.h"
#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

/// Converts a float32 matrix to doubles. If `transposed` is true, returns its transpose.
Result<std::vector<double>> as_matrix(Call& call, const Tensor& x, bool transposed) {
  const Shape& shape = x.shape();
  SHOAL_TRY(std::vector<double> matrix, call.sums({shape[0], shape[1]}));
  const auto from = x.as<float>();
  const int64_t rows = shape[0], columns = shape[1];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      matrix[size_t(transposed ? j * rows + i : i * columns + j)] = from[size_t(i * columns + j)];
  }
  return matrix;
}

/// Computes alpha A' B' + beta C, where A' and B' are A and B, or their transposes if the node's attributes say so.
Result<void> run_gemm(Call& call) {
  for (size_t i = 0; i < 2; ++i) {
    SHOAL_TRY_VOID(call.want(i, DType::kFloat32));
    SHOAL_TRY_VOID(call.want_rank(i, 2));
  }
  const bool a_turned = call.number("transA", 0) != 0, b_turned = call.number("transB", 0) != 0;
  const double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  const Shape &a_shape = call.shape(0), &b_shape = call.shape(1);
  const int64_t m = a_shape[a_turned ? 1 : 0], k = a_shape[a_turned ? 0 : 1], n = b_shape[b_turned ? 0 : 1];
  if (b_shape[b_turned ? 1 : 0] != k) {
    return invalid_argument("the shapes " + to_string(a_shape) + " and " + to_string(b_shape) +
                            " are not those of a product");
  }
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, Shape{m, n}));
  SHOAL_TRY(const std::vector<double> a, as_matrix(call, call.in(0), a_turned));
  SHOAL_TRY(const std::vector<double> b, as_matrix(call, call.in(1), b_turned));
  SHOAL_TRY(std::vector<double> sums, call.sums({m, n}));
  SHOAL_TRY_VOID(call.budget().take({m, k, n}));
  add_product(a.data(), b.data(), sums.data(), m, k, n);
  const auto to = result.mutable_as<float>();
  if (!call.has(2)) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = float(alpha * sums[i]);
    call.give(std::move(result));
    return {};
  }
  SHOAL_TRY_VOID(call.want(2, DType::kFloat32));
  SHOAL_TRY(const Tensor added, expanded(call, call.in(2), result.shape()));
  const auto c = added.as<float>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = float(alpha * sums[i] + beta * double(c[i]));
  call.give(std::move(result));
  return {};
}

/// The shapes of a matrix product by the rules of numpy.matmul. An operand with one axis is taken as a matrix with one row
/// or one column, and the result lacks this axis. The axes before the last two broadcast.
struct MatrixShapes {
  Shape a, b;          ///< Shapes of at least two axes.
  Shape batch;         ///< The axes before the last two, after broadcasting.
  Strides a_at, b_at;  ///< For each axis of `batch`: the distance between neighbours, counted in matrices.
  Shape result;
};

Shape without_matrix(const Shape& shape) { return Shape(shape.dims().first(size_t(shape.rank() - 2))); }

Result<MatrixShapes> matrix_shapes(const Shape& a_given, const Shape& b_given) {
  const auto unfit = [&] {
    return invalid_argument("the shapes " + to_string(a_given) + " and " + to_string(b_given) +
                            " are not those of a product");
  };
  if (a_given.rank() == 0 || b_given.rank() == 0) return unfit();
  MatrixShapes of;
  of.a = a_given.rank() == 1 ? Shape{1, a_given[0]} : a_given;
  of.b = b_given.rank() == 1 ? Shape{b_given[0], 1} : b_given;
  if (of.a[of.a.rank() - 1] != of.b[of.b.rank() - 2]) return unfit();
  const Shape a_batch = without_matrix(of.a), b_batch = without_matrix(of.b);
  const Result<Shape> batch = repeated_shape(a_batch, b_batch);
  if (!batch) return unfit();
  of.batch = *batch;
  of.a_at = repeated_strides(a_batch, of.batch);
  of.b_at = repeated_strides(b_batch, of.batch);
  std::vector<int64_t> dims(of.batch.dims().begin(), of.batch.dims().end());
  if (a_given.rank() > 1) dims.push_back(of.a[of.a.rank() - 2]);
  if (b_given.rank() > 1) dims.push_back(of.b[of.b.rank() - 1]);
  SHOAL_TRY(of.result, shape_of(dims));
  return of;
}

Result<void> run_matmul(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  SHOAL_TRY_VOID(call.want(1, DType::kFloat32));
  SHOAL_TRY(const MatrixShapes of, matrix_shapes(call.shape(0), call.shape(1)));
  const int64_t m = of.a[of.a.rank() - 2], k = of.a[of.a.rank() - 1], n = of.b[of.b.rank() - 1];
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, of.result));
  SHOAL_TRY_VOID(call.budget().take({of.batch.elements(), m, k, n}));
  SHOAL_TRY_VOID(call.budget().take({call.in(0).elements() + call.in(1).elements()}));
  const auto a = call.in(0).as<float>(), b = call.in(1).as<float>();
  const std::vector<double> all_a(a.begin(), a.end()), all_b(b.begin(), b.end());
  SHOAL_TRY(std::vector<double> sums, call.sums({m, n}));
  auto to = result.mutable_as<float>().begin();
  const int64_t a_step = last_stride(of.a_at, of.batch), b_step = last_stride(of.b_at, of.batch);
  each_row<2>(of.batch, {of.a_at, of.b_at}, [&](const auto& begins, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      std::ranges::fill(sums, 0.0);
      add_product(all_a.data() + (begins[0] + i * a_step) * m * k, all_b.data() + (begins[1] + i * b_step) * k * n,
                  sums.data(), m, k, n);
      for (const double sum : sums) *to++ = float(sum);
    }
  });
  call.give(std::move(result));
  return {};
}

}  // namespace

void add_products(Kernels& kernels) {
  kernels["Gemm"] = {run_gemm,
                     2,
                     3,
                     {{"alpha", AttributeType::kReal},
                      {"beta", AttributeType::kReal},
                      {"transA", AttributeType::kInt},
                      {"transB", AttributeType::kInt}}};
  kernels["MatMul"] = {run_matmul, 2, 2};
}

}  // namespace shoal::convert::onnx_model
