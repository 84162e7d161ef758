// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Products of matrices by oneDNN, divided into parts that are computed beside each other.
#include <optional>

#include "primitive.h"

namespace shoal::backends::onednn {

/// A matrix, or a batch of them, as a product sees it. Transposes are strides: it lies in memory as [columns, rows] then.
struct Matrices {
  int64_t rows, columns;
  bool transposed = false;
  /// None if oneDNN is told of no such axis; a batch of 1 meets each of the other factor's.
  std::optional<int64_t> batch = {};

  int64_t elements() const { return batch.value_or(1) * rows * columns; }
  dnnl::memory::desc of(dnnl::memory::data_type type) const;
};

/// c = a b + bias.
struct MatrixProduct {
  Matrices a, b, c;
  std::optional<size_t> bias_input = {};  ///< The input that is the bias, [c.columns].
  /// Take oneDNN's gemm instead of what it would choose.
  bool prefers_gemm = false;
};

/// A kernel that writes output 0 from inputs 0 (a) and 1 (b); null where oneDNN has none worth taking. `b_is_variable`:
/// what is made of it is kept until it changes.
std::unique_ptr<PrimitiveKernel> make_matrix_product(const Context& context, const MatrixProduct& product,
                                                     bool b_is_variable = false);

}  // namespace shoal::backends::onednn
