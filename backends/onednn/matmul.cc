// SPDX-License-Identifier: Apache-2.0
// Products of matrices and of batches of matrices. The strides of an operand tell whether it is transposed; the result
// keeps its rows contiguous.
#include "matrix_product.h"
#include "sources.h"

namespace shoal::backends::onednn {
namespace {

/// The matrices in a tensor, transposed if the op says so.
Matrices matrices(const Shape& shape, bool transposed) {
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  const int64_t batch = shape.elements() / (rows * columns);
  return transposed ? Matrices{columns, rows, true, batch} : Matrices{rows, columns, false, batch};
}

/// Joins the matrices of a batch, one below the other or, if transposed, side by side, into one matrix.
Matrices flat(Matrices m) {
  (m.transposed ? m.columns : m.rows) *= *std::exchange(m.batch, std::nullopt);
  return m;
}

struct Operands {
  Matrices a, b, c;
  explicit Operands(const KernelRequest& request)
      : a(matrices(request.inputs[0].shape, request.node.attributes.get_bool("transpose_a"))),
        b(matrices(request.inputs[1].shape, request.node.attributes.get_bool("transpose_b"))),
        c(matrices(request.outputs[0].shape, false)) {}
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const auto [a, b, c] = Operands(request);
  if (b.batch == 1 && (!a.transposed || a.batch == 1)) return make_matrix_product(context, {flat(a), flat(b), flat(c)});
  return make_matrix_product(context, {a, b, c});  // If b is a batch of one, every matrix of a is multiplied with it.
}

std::unique_ptr<Kernel> make_matmul_sum(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const auto [a, b, c] = Operands(request);
  // A single product computes the sum over a batch only if a is transposed and b is not. For other layouts, null tells the
  // caller to use the kernel of the reference backend.
  if (*a.batch > 1 && (!a.transposed || b.transposed)) return nullptr;
  return make_matrix_product(context, {flat(a), flat(b), flat(c)});
}

}  // namespace shoal::backends::onednn
