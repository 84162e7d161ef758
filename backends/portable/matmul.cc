// SPDX-License-Identifier: Apache-2.0
// Products of matrices and of batches of matrices. The strides of an operand tell whether it is transposed.
#include <algorithm>
#include <utility>

#include "dense.h"
#include "matrix.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::portable {
namespace {

/// An operand: contiguous matrices, with the strides at which the product reads them.
struct Matrices {
  int64_t rows, columns, down, right, count;
  bool transposed;

  Matrices(const Shape& shape, bool transposed_)
      : rows(shape[shape.rank() - 2]),
        columns(shape[shape.rank() - 1]),
        down(columns),
        right(1),
        count(shape.elements() / (rows * columns)),
        transposed(transposed_) {
    if (!transposed) return;
    std::swap(rows, columns);
    std::swap(down, right);
  }
  Strided at(const float* data, int64_t index) const {
    return {data + (count == 1 ? 0 : index) * rows * columns, down, right};
  }
};

/// A single product of two matrices, computed as the product of a dense layer or of one of its gradients. Returns null if
/// both operands are transposed.
std::unique_ptr<Kernel> make_dense_product(const KernelRequest& request, const Matrices& a, const Matrices& b) {
  if (a.transposed && b.transposed) return nullptr;
  if (b.transposed) return dense_product(request, {a.rows, b.columns, a.columns});
  if (!a.transposed) return dense_input_product(request, {a.rows, a.columns, b.columns});
  return dense_kernel_product(request, {a.columns, a.rows, b.columns});
}

/// The products of a batch. Each product is computed by one thread or, if there are few products for the threads, by all
/// threads together, one product after another.
class MatmulKernel final : public Kernel {
 public:
  MatmulKernel(int threads, const Matrices& a, const Matrices& b, int64_t count)
      : a_(a),
        b_(b),
        count_(count),
        apart_(count >= int64_t(4) * threads && threads > 1),
        threads_(threads),
        plan_(apart_ ? 1 : threads, a.rows, a.columns, b.columns, a.transposed) {}

  Result<void> run(const KernelCall& call) override {
    if (!apart_) {
      for (int64_t index = 0; index < count_; ++index) multiply(call, index, call.scratch, call.thread_scratch);
      return {};
    }
    const int64_t bytes = count_ * a_.rows * a_.columns * b_.columns;
    parallel_chunks(threads_, count_, 1, bytes, [&](int thread, Chunks& chunks) {
      std::byte* const shared = call.thread_scratch.of(thread);
      const ThreadScratch own{shared + align_up(plan_.shared_bytes()), 0};
      for (int64_t first, last; chunks.next(first, last);) multiply(call, first, shared, own);
    });
    return {};
  }
  size_t scratch_bytes() const override { return apart_ ? 0 : plan_.shared_bytes(); }
  size_t thread_scratch_bytes() const override { return plan_.own_bytes() + (apart_ ? align_up(plan_.shared_bytes()) : 0); }
  std::string implementation() const override { return "portable: panels"; }

 private:
  void multiply(const KernelCall& call, int64_t index, std::byte* shared, ThreadScratch own) const {
    plan_.run({.a = a_.at(floats(call.inputs[0]), index),
               .b = b_.at(floats(call.inputs[1]), index),
               .c = floats(call.outputs[0]) + index * a_.rows * b_.columns,
               .c_stride = b_.columns},
              shared, own);
  }

  Matrices a_, b_;
  int64_t count_;
  bool apart_;
  int threads_;
  MatrixPlan plan_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  Matrices a(request.inputs[0].shape, request.node.attributes.get_bool("transpose_a"));
  const Matrices b(request.inputs[1].shape, request.node.attributes.get_bool("transpose_b"));
  const Shape& y = request.outputs[0].shape;
  int64_t count = y.elements() / (a.rows * b.columns);
  if (b.count == 1 && !a.transposed) {  // The matrices of a, one below the other, are a single matrix.
    a.rows *= std::exchange(a.count, 1);
    count = 1;
  }
  if (count == 1) {
    if (auto kernel = make_dense_product(request, a, b)) return kernel;
  }
  return std::make_unique<MatmulKernel>(request.threads, a, b, count);
}

std::unique_ptr<Kernel> make_matmul_sum(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  Matrices a(request.inputs[0].shape, request.node.attributes.get_bool("transpose_a"));
  Matrices b(request.inputs[1].shape, request.node.attributes.get_bool("transpose_b"));
  // If a is transposed and b is not, the sum over the batch is one product of the stacked matrices. In other cases this
  // backend makes no kernel, and the reference backend's one is used.
  if (a.count > 1 && (!a.transposed || b.transposed)) return nullptr;
  a.columns *= std::exchange(a.count, 1);
  b.rows *= std::exchange(b.count, 1);
  return std::make_unique<MatmulKernel>(request.threads, a, b, 1);
}

}  // namespace shoal::backends::portable
