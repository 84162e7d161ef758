// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions by which all backends check whether they can make a kernel for a request.
#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// True if the node's attribute "activation" is "relu".
bool fused_relu(const KernelRequest& request);
/// True if all inputs and outputs are float32.
bool all_float32(const KernelRequest& request);
/// True if no dimension of any operand is zero. Empty batches are left to the reference backend.
bool none_empty(const KernelRequest& request);

/// The columns and rows of a dense layer's operand [..., features], seen as a matrix.
inline int64_t columns_of(const TensorType& type) { return type.shape[type.shape.rank() - 1]; }
inline int64_t rows_of(const TensorType& type) { return type.shape.elements() / columns_of(type); }

inline const float* floats(const TensorView& view) { return reinterpret_cast<const float*>(view.data); }
inline float* floats(const MutableTensorView& view) { return reinterpret_cast<float*>(view.data); }

}  // namespace shoal::backends
