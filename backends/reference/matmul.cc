// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

/// An operand: a batch of matrices, or one matrix for all products. If the op transposes the operand, rows and columns are
/// swapped, and so are the distances between neighbouring elements (down, right).
struct Operand {
  int64_t rows, columns;
  int64_t down, right;
  int64_t next = 0;  ///< Distance to the next matrix; 0 if the same matrix is used for all.

  Operand(const Shape& shape, bool transposed)
      : rows(shape[shape.rank() - 2]), columns(shape[shape.rank() - 1]), down(columns), right(1) {
    if (shape.rank() > 2) next = rows * columns;
    if (!transposed) return;
    std::swap(rows, columns);
    std::swap(down, right);
  }
};

struct Product {
  Operand a, b;

  explicit Product(const KernelRequest& request)
      : a(request.inputs[0].shape, request.node.attributes.get_bool("transpose_a")),
        b(request.inputs[1].shape, request.node.attributes.get_bool("transpose_b")) {}

  double element(const float* a_data, const float* b_data, int64_t row, int64_t column) const {
    double sum = 0;
    for (int64_t k = 0; k < a.columns; ++k) {
      sum += double(a_data[row * a.down + k * a.right]) * double(b_data[k * b.down + column * b.right]);
    }
    return sum;
  }
};

int64_t matrices_in(const Shape& shape) {
  int64_t count = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) count *= shape[axis];
  return count;
}

std::unique_ptr<Kernel> make_matmul(const KernelRequest& request) {
  const int64_t batch = matrices_in(request.outputs[0].shape);
  return make_loop([product = Product(request), batch](const KernelCall& call) -> Result<void> {
    float* y = call.outputs[0].as<float>().data();
    for (int64_t n = 0; n < batch; ++n) {
      const float* a = call.inputs[0].as<float>().data() + n * product.a.next;
      const float* b = call.inputs[1].as<float>().data() + n * product.b.next;
      for (int64_t row = 0; row < product.a.rows; ++row) {
        for (int64_t column = 0; column < product.b.columns; ++column) *y++ = float(product.element(a, b, row, column));
      }
    }
    return {};
  });
}

/// The sum, over the batch, of the product of each pair of matrices.
std::unique_ptr<Kernel> make_matmul_sum(const KernelRequest& request) {
  const int64_t batch = matrices_in(request.inputs[0].shape);
  return make_loop([product = Product(request), batch](const KernelCall& call) -> Result<void> {
    float* y = call.outputs[0].as<float>().data();
    for (int64_t row = 0; row < product.a.rows; ++row) {
      for (int64_t column = 0; column < product.b.columns; ++column) {
        double sum = 0;
        for (int64_t n = 0; n < batch; ++n) {
          sum += product.element(call.inputs[0].as<float>().data() + n * product.a.next,
                                 call.inputs[1].as<float>().data() + n * product.b.next, row, column);
        }
        *y++ = float(sum);
      }
    }
    return {};
  });
}

}  // namespace

void add_matmul(const AddMaker& add) {
  add("matmul", make_matmul);
  add("matmul_sum", make_matmul_sum);
}

}  // namespace shoal::backends::reference
