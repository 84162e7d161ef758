// SPDX-License-Identifier: Apache-2.0
/// Products of single matrices and of batches of matrices.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

/// The sizes of the matrices in an operand. If the operand is to be transposed, these are the sizes after that.
struct Matrix {
  Dim rows;
  Dim columns;
};

Result<Matrix> matrix_of(const ValueType& type, std::string_view what, const Attributes& attributes,
                         std::string_view flag) {
  SHOAL_TRY_VOID(expect_float(type, what));
  SHOAL_TRY_VOID(expect_rank_min(type, 2, what));
  SHOAL_TRY(const bool transposed, bool_attribute(attributes, flag));
  Matrix matrix{type.shape[type.shape.rank() - 2], type.shape[type.shape.rank() - 1]};
  if (transposed) std::swap(matrix.rows, matrix.columns);
  return matrix;
}

std::vector<Dim> leading(const DimShape& shape) { return {shape.dims().begin(), shape.dims().end() - 2}; }

Result<Matrix> product_of(const ValueType& a, const ValueType& b, const Attributes& attributes) {
  SHOAL_TRY(const Matrix left, matrix_of(a, "a", attributes, "transpose_a"));
  SHOAL_TRY(const Matrix right, matrix_of(b, "b", attributes, "transpose_b"));
  if (left.columns == right.rows) return Matrix{left.rows, right.columns};
  return invalid_argument("a " + to_string(a.shape) + " has " + to_string(left.columns) + " columns and b " +
                          to_string(b.shape) + " " + to_string(right.rows) + " rows, after their transposition");
}

Outputs matmul_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const Matrix product, product_of(inputs[0], inputs[1], attributes));
  std::vector<Dim> dims = leading(inputs[0].shape);
  const std::vector<Dim> other = leading(inputs[1].shape);
  if (dims != other && !dims.empty() && !other.empty()) {
    return invalid_argument("a " + to_string(inputs[0].shape) + " and b " + to_string(inputs[1].shape) +
                            " must have equal sizes before the last two, or one of them must have no others");
  }
  if (dims.empty()) dims = other;
  dims.push_back(product.rows);
  dims.push_back(product.columns);
  return std::vector{float_type(DimShape(std::move(dims)))};
}

Outputs matmul_sum_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const Matrix product, product_of(inputs[0], inputs[1], attributes));
  if (leading(inputs[0].shape) != leading(inputs[1].shape)) {
    return invalid_argument("a " + to_string(inputs[0].shape) + " and b " + to_string(inputs[1].shape) +
                            " must have equal sizes before the last two");
  }
  return std::vector{float_type({product.rows, product.columns})};
}

/// With C = A B: dA = dC B^T and dB = A^T dC; the gradient of a transposed operand is the transpose of this. If a
/// single matrix was multiplied with a whole batch, its gradient is the sum over the batch.
std::vector<Value> matmul_gradient(const GradientRequest& request) {
  const Value a = request.node.inputs[0];
  const Value b = request.node.inputs[1];
  const Value dy = request.output_gradients[0];
  const bool transpose_a = request.node.attributes.get_bool("transpose_a");
  const bool transpose_b = request.node.attributes.get_bool("transpose_b");
  auto product = [&](Value wrt, Value left, Value right, bool transpose_left, bool transpose_right) {
    const bool shared = wrt.rank() == 2 && dy.rank() > 2;
    return request.graph.add(shared ? "matmul_sum" : "matmul", {left, right},
                             {{"transpose_a", transpose_left}, {"transpose_b", transpose_right}})[0];
  };
  std::vector<Value> result(2);
  if (request.wanted[0]) {
    result[0] = transpose_a ? product(a, b, dy, transpose_b, true) : product(a, dy, b, false, !transpose_b);
  }
  if (request.wanted[1]) {
    result[1] = transpose_b ? product(b, dy, a, true, transpose_a) : product(b, a, dy, !transpose_a, false);
  }
  return result;
}

double matmul_multiply_adds(const Attributes& attributes, Operands inputs, Operands outputs) {
  return double(outputs[0].elements()) * size_from_end(inputs[0], attributes.get_bool("transpose_a") ? 2 : 1);
}

/// Returns the number of multiplications. The result [rows, columns] is the sum of the products of all matrices in the
/// batch. So each of its elements takes one multiplication for each column of each matrix in a: the number of all elements
/// of a, divided by the rows of one matrix.
double matmul_sum_multiply_adds(const Attributes& attributes, Operands inputs, Operands outputs) {
  const double rows = size_from_end(inputs[0], attributes.get_bool("transpose_a") ? 1 : 2);
  return rows == 0 ? 0 : double(outputs[0].elements()) * double(inputs[0].elements()) / rows;
}

}  // namespace

void add_matmul_ops(const AddOp& add) {
  add({.name = "matmul",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = matmul_types,
       .gradient = matmul_gradient,
       .product = true,
       .multiply_adds = matmul_multiply_adds});
  add({.name = "matmul_sum",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = matmul_sum_types,
       .product = true,
       .multiply_adds = matmul_sum_multiply_adds});
}

}  // namespace rules

namespace ops {

Value matmul(Value a, Value b, const MatmulOptions& options, std::string_view name) {
  return rules::graph_of("matmul", a)
      .add("matmul", {a, b}, {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}}, name)[0];
}

}  // namespace ops
}  // namespace shoal
