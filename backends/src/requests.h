// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What makers of kernels ask of a request, whatever their backend is.
#include "shoal/backends/kernel.h"

namespace shoal::backends {

/// The node's attribute "activation" is "relu".
bool fused_relu(const KernelRequest& request);
/// All inputs and outputs are float32.
bool all_float32(const KernelRequest& request);
/// No dimension of any operand is zero: empty batches are the reference's.
bool none_empty(const KernelRequest& request);

/// A dense layer's [..., features] is a matrix: of so many columns, and as many rows as there are before the last axis.
inline int64_t columns_of(const TensorType& type) { return type.shape[type.shape.rank() - 1]; }
inline int64_t rows_of(const TensorType& type) { return type.shape.elements() / columns_of(type); }

inline const float* floats(const TensorView& view) { return reinterpret_cast<const float*>(view.data); }
inline float* floats(const MutableTensorView& view) { return reinterpret_cast<float*>(view.data); }

}  // namespace shoal::backends
