// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A product c = a b of two matrices of any size, computed from packed panels (panels.h) on a team of threads. Each element
/// is one sum, in the order of the columns of a, to which the bias is added. So bits do not depend on how the work is
/// divided.
#include <algorithm>

#include "panels.h"
#include "shoal/backends/kernel.h"

namespace shoal::backends::portable {

/// Returns the cost of a product of a few rows with a large matrix [depth, columns], in bytes of memory traffic, as
/// parallel_for() takes it. Each element of the matrix is read once. Four multiplications take as long as moving one byte.
inline int64_t product_bytes(int64_t rows, int64_t depth, int64_t columns) {
  return depth * columns * std::max<int64_t>(sizeof(float), rows / 4);
}

/// The smallest multiple of `to` that is at least `number`.
inline int64_t rounded_up(int64_t number, int64_t to) { return (number + to - 1) / to * to; }

class MatrixPlan {
 public:
  /// A plan for the product c = a b, where c is [rows, columns], a is [rows, depth] and b is [depth, columns].
  /// `a_transposed`: a is the transpose of a row-major matrix, so the elements of each of its columns are contiguous.
  MatrixPlan(int threads, int64_t rows, int64_t depth, int64_t columns, bool a_transposed = false)
      : threads_(threads), rows_(rows), depth_(depth), columns_(columns), a_transposed_(a_transposed) {}

  struct Operands {
    Strided a, b;
    float* c;
    int64_t c_stride;
    const float* bias = nullptr;  ///< [columns]; null: no bias is added.
    bool relu = false;
  };
  /// `shared` and `own` are scratch memory of shared_bytes() and own_bytes() bytes; `own` has that much for each thread.
  void run(const Operands& operands, std::byte* shared, ThreadScratch own) const;
  size_t shared_bytes() const;
  size_t own_bytes() const;

 private:
  bool divides_rows() const;
  void by_rows(const Operands& operands, float* packed, ThreadScratch own) const;
  void by_columns(const Operands& operands, ThreadScratch own) const;
  void multiply_columns(const Operands& operands, int64_t first, int64_t last, float* panels) const;

  int threads_;
  int64_t rows_, depth_, columns_;
  bool a_transposed_;
};

}  // namespace shoal::backends::portable
