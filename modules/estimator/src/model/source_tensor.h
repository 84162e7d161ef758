// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Evaluates a SourceTensor: a tensor of another model, and the steps that change its layout. The type of the result is
/// computed first, so that mistakes are found before anything is read, then its value.
#include <functional>
#include <set>
#include <string>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/estimator/source_tensor.h"

namespace shoal {

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
};

/// The names of all tensors that `source` uses.
std::set<std::string> names_in(const SourceTensor& source);
/// "fc1.weight.transposed({1, 0})"
std::string to_string(const SourceTensor& source);

/// Computes the type of the result. `type_of` returns the type of a tensor by its name. Returns the errors of `type_of`,
/// and InvalidArgument if a step of `source` does not fit the tensor's shape. The error names tensor, step and shapes.
Result<TensorType> source_type(const SourceTensor& source,
                               const std::function<Result<TensorType>(const std::string&)>& type_of);
/// Computes the value, after source_type() has succeeded. Errors: those of `read`.
Result<Tensor> source_value(const SourceTensor& source, const std::function<Result<Tensor>(const std::string&)>& read);

}  // namespace shoal
