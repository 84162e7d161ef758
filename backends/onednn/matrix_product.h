// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Products of matrices by oneDNN, divided into parts that are computed at the same time.
#include <optional>

#include "primitive.h"

namespace shoal::backends::onednn {

/// A matrix or a batch of matrices, as a product uses it. A transposed one lies in memory as [columns, rows].
struct Matrices {
  int64_t rows, columns;
  bool transposed = false;
  /// The number of matrices. Without a number, oneDNN gets no batch axis. If the number is 1, the matrix is multiplied with
  /// each matrix of the other factor.
  std::optional<int64_t> batch = {};

  int64_t elements() const { return batch.value_or(1) * rows * columns; }
  dnnl::memory::desc of(dnnl::memory::data_type type) const;
};

/// c = a b + bias.
struct MatrixProduct {
  Matrices a, b, c;
  std::optional<size_t> bias_input = {};  ///< The index of the input that is the bias, [c.columns].
  /// True: use oneDNN's gemm instead of the implementation that oneDNN would choose.
  bool prefers_gemm = false;
};

/// A kernel that computes output 0 from inputs 0 (a) and 1 (b). Null if oneDNN has no fast implementation. If
/// `b_is_variable`, data derived from it are kept until it changes.
std::unique_ptr<PrimitiveKernel> make_matrix_product(const Context& context, const MatrixProduct& product,
                                                     bool b_is_variable = false);

}  // namespace shoal::backends::onednn
